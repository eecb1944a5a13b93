"""Early stopping by return."""
import torch
from torch import nn


class Fitter:
    def __init__(self, model, patience):
        self.model, self.patience = model, patience
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.8)
        self.bad, self.best = 0, float("inf")

    def validate(self, x, y):
        with torch.no_grad():
            return nn.functional.cross_entropy(self.model(x), y).item()

    def fit(self, x, y, epochs):
        curve = []
        for epoch in range(epochs):
            for rows in torch.randperm(200).split(20):
                loss = nn.functional.cross_entropy(self.model(x[rows]), y[rows])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            val = self.validate(x[200:], y[200:])
            curve.append(val)
            self.bad = 0 if val < self.best else self.bad + 1
            self.best = min(self.best, val)
            print(f"epoch {epoch}: val {val:.6f}")
            print(f"  {self.bad} bad, best {self.best:.7f}")
            if self.bad >= self.patience:
                return {"stopped": epoch, "curve": curve, "last": loss.item()}
        return {"stopped": None, "curve": curve, "last": None}


torch.set_num_threads(1)
torch.manual_seed(48)
x = torch.randn(260, 8)
y = torch.randint(0, 2, (260,))
fitter = Fitter(nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2)), patience=2)
result = fitter.fit(x, y, 50)
print("stopped at", result["stopped"], len(result["curve"]), f"{result['last']:.6f} {fitter.bad} {fitter.best:.6f}")
