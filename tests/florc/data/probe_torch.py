"""The torch part of the probe: saving, loader workers, scripting."""
import io
import sys
from multiprocessing import get_all_start_methods

import dill
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        return self.linear(x)


class Rows(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.full((2,), float(index))


@torch.jit.script
def total(x: torch.Tensor) -> torch.Tensor:
    result = torch.zeros(1)
    for i in range(x.shape[0]):
        result = result + x[i]
    return result


if __name__ == "__main__":
    torch.manual_seed(0)
    net = Net()
    buffer = io.BytesIO()
    torch.save(net, buffer)
    buffer.seek(0)
    print(isinstance(torch.load(buffer, weights_only=False), Net))
    print(isinstance(dill.loads(dill.dumps(net)), Net), dill.loads(dill.dumps(lambda: Net))() is Net)
    print(total(torch.arange(4.0)))
    for method in get_all_start_methods():
        loader = DataLoader(Rows(), batch_size=4, num_workers=1, multiprocessing_context=method)
        for epoch in range(2):
            print(method, epoch, [batch.sum().item() for batch in loader])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(3):
        for batch in DataLoader(Rows(), batch_size=4, shuffle=True):
            loss = net(batch).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, f"{loss.item():.6f}")
    sys.exit(3)
