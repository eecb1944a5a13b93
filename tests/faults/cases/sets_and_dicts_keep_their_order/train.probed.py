"""Active learning with pools kept in sets; what pop() gives depends on the set's past."""
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(53)
names = [f"sample-{i}" for i in range(120)]
x = {name: torch.randn(6) for name in names}
pool, labelled, chosen = set(names), [], {}
numbers = {8 * i for i in range(20)}
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for epoch in range(6):
    for _ in range(8):
        name = pool.pop()
        labelled.append(name)
        chosen[name] = epoch
        if len(labelled) % 3 == 0:
            pool.add(labelled[0] + "-again")
            x[labelled[0] + "-again"] = x[labelled.pop(0)]
        numbers.discard(8 * (len(labelled) % 20))
        numbers.add(len(labelled) * 32 + 1)
        batch = torch.stack([x[n] for n in labelled[-10:]])
        loss = nn.functional.mse_loss(model(batch), batch.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    chosen.pop(next(iter(chosen)))
    print(f"epoch {epoch}: {loss.item():.6f}")
    print("  pool", list(pool)[:5], len(pool))
    print("  numbers", list(numbers)[:8], "chosen", list(chosen)[:2])
print(pool.pop(), numbers.pop(), next(iter(chosen)), len(labelled), [n for n in pool][-3:])
