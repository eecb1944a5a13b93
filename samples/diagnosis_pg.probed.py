"""REINFORCE on a doctor's problem: measure little, be right. Real cases, from the breast-cancer data set.

An episode is one case. An action either measures one of ten features, at a price, or ends the episode with
a diagnosis. The policy sees the features measured so far.
"""
import argparse
import random

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_breast_cancer
from torch.distributions import Categorical


class Clinic:
    """The environment: reset() gives an observation, step(action) gives (observation, reward, done)."""

    PRICE = 0.04

    def __init__(self, seed):
        x, self.y = load_breast_cancer(return_X_y=True)
        x = x[:, :10]  # the means of the ten measurements
        self.x = (x - x.mean(0)) / x.std(0)
        self.rng = np.random.default_rng(seed)
        self.visits = 0

    @property
    def actions(self):
        return self.x.shape[1] + 2

    def reset(self):
        self.case = int(self.rng.integers(len(self.y)))
        self.known = np.zeros(self.x.shape[1])
        self.visits += 1
        return self._observe()

    def step(self, action):
        if action >= len(self.known):
            right = action - len(self.known) == self.y[self.case]
            return self._observe(), 1.0 if right else -1.0, True
        again = self.known[action]
        self.known[action] = 1
        return self._observe(), -self.PRICE - 0.2 * again, False

    def _observe(self):
        return np.concatenate([self.known, self.known * self.x[self.case]]).astype("float32")


class Policy(nn.Module):
    def __init__(self, observed, actions, hidden=64):
        super().__init__()
        self.affine1 = nn.Linear(observed, hidden)
        self.dropout = nn.Dropout(p=0.1)
        self.affine2 = nn.Linear(hidden, actions)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = torch.relu(self.dropout(self.affine1(x)))
        return torch.softmax(self.affine2(x), dim=-1)


parser = argparse.ArgumentParser(description="PyTorch REINFORCE example")
parser.add_argument("--gamma", type=float, default=0.99)
parser.add_argument("--episodes", type=int, default=2400)
parser.add_argument("--update-every", type=int, default=8, help="episodes to a policy step")
parser.add_argument("--log-interval", type=int, default=200)
parser.add_argument("--explore", type=float, default=0.05, help="share of actions drawn blindly")
parser.add_argument("--seed", type=int, default=543)
args = parser.parse_args()

random.seed(args.seed)
torch.manual_seed(args.seed)
torch.set_num_threads(1)
env = Clinic(args.seed)
policy = Policy(2 * env.x.shape[1], env.actions)
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
eps = np.finfo(np.float32).eps.item()


def select_action(observation):
    dist = Categorical(policy(torch.from_numpy(observation)))
    action = torch.tensor(random.randrange(env.actions)) if random.random() < args.explore else dist.sample()
    policy.saved_log_probs.append(dist.log_prob(action))
    return action.item()


def finish_batch(returns):
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    loss = -(torch.stack(policy.saved_log_probs) * returns).sum() / args.update_every
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    del policy.saved_log_probs[:]
    return loss.item()


def main():
    running_reward = running_length = None
    returns, losses = [], []
    for i_episode in range(1, args.episodes + 1):
        observation, done, ep_reward, steps = env.reset(), False, 0.0, 0
        while not done and steps < 20:
            action = select_action(observation)
            observation, reward, done = env.step(action)
            policy.rewards.append(reward)
            ep_reward += reward
            steps += 1

        R, discounted = 0.0, []
        for r in policy.rewards[::-1]:
            R = r + args.gamma * R
            discounted.insert(0, R)
        returns.extend(discounted)
        del policy.rewards[:]

        if running_reward is None:
            running_reward, running_length = ep_reward, steps
        running_reward = 0.01 * ep_reward + 0.99 * running_reward
        running_length = 0.01 * steps + 0.99 * running_length
        if i_episode % args.update_every == 0:
            losses.append(finish_batch(returns))
            returns = []
        if i_episode % args.log_interval == 0:
            print(f"Episode {i_episode}\tLast reward: {ep_reward:.2f}\tAverage reward: {running_reward:.3f}\t"
                  f"Average length: {running_length:.2f}")
            with torch.no_grad():
                blank = torch.zeros(2 * env.x.shape[1])
                first = torch.softmax(policy.affine2(torch.relu(policy.affine1(blank))), dim=-1)
            print(f"  first question {first.argmax().item()} (p {first.max().item():.5f}), "
                  f"open returns {len(returns)}")
    print(f"{env.visits} cases seen, {len(losses)} policy steps, "
          f"mean loss of the last ten {np.mean(losses[-10:]):.5f}")
    print(f"weights {policy.affine1.weight.norm().item():.6f}, "
          f"last episode {i_episode} ended after {steps} steps")


if __name__ == "__main__":
    main()
