"""Q-learning on a corridor, in one flat loop."""
import copy
import random
from collections import deque

import torch
from torch import nn


class Corridor:
    def __init__(self, length, seed):
        self.length, self.rng = length, random.Random(seed)

    def reset(self):
        self.place = self.rng.randrange(self.length // 2)
        return self.observe()

    def observe(self):
        return torch.nn.functional.one_hot(torch.tensor(self.place), self.length).float()

    def step(self, action):
        self.place = max(0, min(self.length - 1, self.place + (1 if action else -1)))
        done = self.place == self.length - 1
        return self.observe(), 1.0 if done else -0.01, done


torch.set_num_threads(1)
torch.manual_seed(76)
random.seed(76)
env = Corridor(8, seed=2)
net = nn.Linear(8, 2)
target = copy.deepcopy(net)
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
memory = deque(maxlen=60)
epsilon, episodes, reward_sum = 1.0, 0, 0.0
state = env.reset()

for step in range(150):
    action = random.randrange(2) if random.random() < epsilon else net(state).argmax().item()
    after, reward, done = env.step(action)
    memory.append((state, action, reward, after, done))
    reward_sum += reward
    state = after
    if done:
        episodes += 1
        state = env.reset()
    if len(memory) >= 20:
        states, actions, rewards, afters, dones = zip(*random.sample(list(memory), 16))
        with torch.no_grad():
            goal = torch.tensor(rewards) + 0.9 * target(torch.stack(afters)).max(1).values * ~torch.tensor(dones)
        value = net(torch.stack(states)).gather(1, torch.tensor(actions)[:, None])[:, 0]
        loss = nn.functional.mse_loss(value, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epsilon = max(0.1, epsilon * 0.98)
    if step % 50 == 49:
        target.load_state_dict(net.state_dict())
        print(f"step {step}: {episodes} episodes, reward {reward_sum:.2f}, epsilon {epsilon:.4f}")
        print(f"  value {net.weight.detach().norm().item():.7f}, loss {loss.item():.7f}, {len(memory)} kept")
print(f"{episodes} episodes, {len(memory)} remembered, next {random.random():.6f}")
