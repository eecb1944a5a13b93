"""Successive halving: train all, keep the better half, go on with more epochs."""
import torch
from torch import nn


def train(net, x, y, epochs):
    for epoch in range(epochs):
        for rows in torch.randperm(len(x)).split(40):
            loss = nn.functional.mse_loss(net.model(x[rows]), y[rows])
            net.optimizer.zero_grad()
            loss.backward()
            net.optimizer.step()
    return loss.item()


class Net:
    def __init__(self, width, rate):
        self.width = width
        self.model = nn.Sequential(nn.Linear(6, width), nn.Tanh(), nn.Linear(width, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=rate)


def halve(nets, x, y, epochs, level=0):
    scores = []
    for i, net in enumerate(nets):
        scores.append((train(net, x, y, epochs), i))
        print(f"{'  ' * level}net {net.width}: {scores[-1][0]:.6f}")
    scores.sort()
    survivors = [nets[i] for _, i in scores[:len(nets) // 2]]
    if len(survivors) == 1:
        return survivors[0], level
    return halve(survivors, x, y, 2 * epochs, level + 1)


torch.set_num_threads(1)
torch.manual_seed(50)
x = torch.randn(200, 6)
y = x.sin().sum(1, keepdim=True)
for repeat in range(2):
    nets = [Net(4 + 4 * i, 0.02 / (1 + i % 3)) for i in range(8)]
    winner, level = halve(nets, x, y, 1)
    print(f"repeat {repeat}: width {winner.width} after {level + 1} levels")
