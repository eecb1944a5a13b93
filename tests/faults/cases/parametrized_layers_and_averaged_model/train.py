"""Stochastic weight averaging of a net with parametrized weights."""
import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm
from torch.optim.swa_utils import SWALR, AveragedModel


def main():
    torch.set_num_threads(1)
    torch.manual_seed(96)
    x = torch.randn(200, 6)
    y = x.cos().sum(1, keepdim=True)
    model = nn.Sequential(weight_norm(nn.Linear(6, 16)), nn.Tanh(), spectral_norm(nn.Linear(16, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    averaged = AveragedModel(model)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
    swa = SWALR(optimizer, swa_lr=0.02, anneal_epochs=2)
    for epoch in range(5):
        model.train()
        for rows in torch.randperm(200).split(25):
            loss = nn.functional.mse_loss(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch >= 2:
            averaged.update_parameters(model)
            swa.step()
        else:
            cosine.step()
        print(f"epoch {epoch}: {loss.item():.6f} lr {optimizer.param_groups[0]['lr']:.6f}")
    averaged.eval()
    with torch.no_grad():
        print(f"{averaged(x).sum().item():.5f} {averaged.n_averaged.item()} {isinstance(model[0], nn.Linear)}")


main()
