"""Steps that fail, and a loop that goes on."""
import torch
from torch import nn


class Diverged(RuntimeError):
    def __init__(self, step, loss):
        super().__init__(f"step {step}: loss {loss:.5f} is too high")
        self.step = step


def step(model, optimizer, x, number):
    if number % 11 == 10:
        return model(x[:, :5])  # RuntimeError: the shapes do not fit
    loss = nn.functional.mse_loss(model(x), x.flip(1))
    if loss.item() > 2.0 and number % 3 == 0:
        raise Diverged(number, loss.item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(45)
    x = torch.randn(200, 6)
    model = nn.Linear(6, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03)
    number, failed, finished, last = 0, [], 0, None
    for epoch in range(6):
        try:
            for rows in torch.randperm(200).split(25):
                number += 1
                try:
                    step(model, optimizer, x[rows] * (1 + epoch % 2), number)
                except Diverged as error:
                    failed.append(error.step)
                    last = str(error)
                    if len(failed) % 4 == 0:
                        break
                    continue
                except RuntimeError as error:
                    last = type(error).__name__
                    raise ValueError(f"bad shapes at {number}") from error
                finally:
                    finished += 1
            else:
                last = "complete"
        except ValueError as error:
            failed.append(str(error))
        print(f"epoch {epoch}: {number} steps, {len(failed)} failed, {last}")
        print(f"  weight {model.weight.detach().norm().item():.7f} finished {finished} failed {failed[-2:]}")
    try:
        print(error)
    except NameError:
        print("error is unbound")
    print(failed, finished)


main()
