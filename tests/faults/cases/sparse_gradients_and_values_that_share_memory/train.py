"""Sparse tensors come back with what they share: gradients, an adjacency whose values have another name."""
import torch
from torch import nn

torch.manual_seed(3)
embedding = nn.Embedding(50, 8, sparse=True)
head = nn.Linear(8, 2)
rows = torch.optim.SparseAdam(embedding.parameters(), lr=0.05)
dense = torch.optim.SGD(head.parameters(), lr=0.05, momentum=0.9)
adjacency = (torch.rand(16, 16) > 0.7).float().to_sparse()
weights = adjacency.values()
kept = None

for epoch in range(5):
    for step in range(12):
        words, labels = torch.randint(0, 50, (16,)), torch.randint(0, 2, (16,))
        hidden = torch.sparse.mm(adjacency, embedding(words))
        loss = nn.functional.cross_entropy(head(hidden), labels)
        rows.zero_grad()
        dense.zero_grad()
        loss.backward()
        rows.step()
        dense.step()
        kept = torch.relu(hidden.detach()).to_sparse_csr()
        kept.values().mul_(0.5)
    weights.mul_(0.9)
    print(f"epoch {epoch}: loss {loss.item():.6f}")
print(adjacency.to_dense().norm().item())
