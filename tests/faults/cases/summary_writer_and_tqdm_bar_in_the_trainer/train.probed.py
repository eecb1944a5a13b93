"""Logs to TensorBoard and to a bar."""
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm


class Trainer:
    def __init__(self, model, epochs):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        self.writer = SummaryWriter()
        self.bar = tqdm(total=8 * epochs, leave=False)
        self.steps = 0

    def epoch(self, x):
        for rows in torch.randperm(len(x)).split(25):
            loss = nn.functional.mse_loss(self.model(x[rows]), x[rows])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.writer.add_scalar("loss", loss.item(), self.steps)
            self.bar.update()
            self.steps += 1
        return loss.item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(92)
    x = torch.randn(200, 6)
    trainer = Trainer(nn.Linear(6, 6), epochs=4)
    for epoch in range(4):
        loss = trainer.epoch(x)
        trainer.writer.add_histogram("weight", trainer.model.weight, epoch)
        print(f"epoch {epoch}: {loss:.6f}")
        print(f"  {trainer.steps} steps, weight {trainer.model.weight.detach().norm().item():.7f}")
    trainer.writer.close()
    trainer.bar.close()


main()
