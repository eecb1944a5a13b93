"""Everything the loop learns is kept in NumPy arrays and windows on them."""
import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(52)
rng = np.random.default_rng(1)
x = rng.normal(size=(240, 6)).astype("float32")
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

table = np.zeros((8, 6))
column, turned, tail = table[:, 2], table.T, table[5:]
records = np.zeros(10, dtype=[("epoch", "i4"), ("loss", "f8"), ("name", "U4")])
losses = records["loss"]
total = np.array(0.0)
objects = np.empty(3, dtype=object)
position = 0

for epoch in range(6):
    for rows in np.split(rng.permutation(240), 6):
        batch = torch.from_numpy(x[rows])
        loss = nn.functional.mse_loss(model(batch), batch.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        table[position % 8] = batch.mean(0).numpy()
        column += 0.5
        turned[4, -1] -= loss.item()
        total += loss.item()
        position += 1
    tail[:] = tail[::-1].copy()
    losses[epoch] = loss.item()
    records[epoch]["name"] = f"e{epoch}"
    objects[epoch % 3] = [epoch, losses[:2]]
    x[:, 5] *= 0.9
    print(f"epoch {epoch}: {loss.item():.6f}")
table[:] = 1
print(column.tolist(), turned.shape, tail.sum(), records[3]["name"], f"{losses.sum():.7f}", objects[0][1].base is not None)
