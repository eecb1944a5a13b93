"""Population-based training with an actor and a target that swap."""
import copy
import random

import torch
from torch import nn


class Learner:
    def __init__(self, name, rate):
        self.name, self.rate, self.parent = name, rate, None
        self.net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=rate, momentum=0.9)
        self.score = float("inf")

    def train(self, x, y):
        for rows in torch.randperm(len(x)).split(50):
            loss = nn.functional.mse_loss(self.net(x[rows]), y[rows])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.score = loss.item()


torch.set_num_threads(1)
torch.manual_seed(73)
random.seed(73)
x = torch.randn(200, 6)
y = x.abs().sum(1, keepdim=True)
population = [Learner(f"L{i}", 0.001 * 2 ** i) for i in range(4)]
champion, challenger = population[0], population[1]
by_name = {learner.name: learner for learner in population}

for epoch in range(5):
    for learner in population:
        learner.train(x, y)
    population.sort(key=lambda learner: learner.score)
    loser, winner = population[-1], population[0]
    child = copy.deepcopy(winner)
    child.name, child.parent = f"{winner.name}.{epoch}", winner
    child.optimizer.param_groups[0]["lr"] *= random.choice((0.8, 1.2))
    population[-1] = child
    by_name[child.name] = child
    champion, challenger = challenger, champion
    if challenger.score < champion.score:
        champion.net.load_state_dict(challenger.net.state_dict())
    print(f"epoch {epoch}: {[(p.name, round(p.score, 5)) for p in population]}")
    print("  champion", champion.name, "same", champion is by_name[champion.name], population[-1].parent is winner)
    print("  owned", all(g is p for l in population for g, p in
          zip(l.optimizer.param_groups[0]["params"], l.net.parameters())), loser.name)
print(champion.name, [l.parent.name if l.parent else None for l in population], len(by_name))
for learner in population:
    learner.train(x, y)
    print(f"{learner.name} {learner.score:.7f}")
