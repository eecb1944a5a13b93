"""What calls are taken to do by name: tables of calls, the odd ones with their reason."""

from __future__ import annotations

import ast

import pytest

from florc.transforms import knowledge


def call(text: str) -> ast.Call:
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Call)
    return node


PURE = """
print(x); print(x, file=sys.stderr); len(x); sum(losses); max(norms); sorted(d.items())
isinstance(m, nn.Linear)
getattr(x, "y"); range(3); enumerate(xs); math.sqrt(2); f"{x}".format(); "a".join(xs); x.replace("a", "b")
loss.item(); x.norm(); x.detach(); x.cpu(); x.to(device); x.numpy(); x.tolist(); x.argmax(dim=1); x.size(0)
x.log()
model.parameters(); model.named_parameters(); model.state_dict(); scheduler.get_last_lr(); scaler.get_scale()
torch.sum(x); torch.no_grad(); F.cross_entropy(a, b); nn.functional.relu(x); np.mean(x); np.linalg.norm(x)
d.get("k"); d.items(); d.values(); logging.info("x"); logger.warning("x"); logging.getLogger("a").info("x")
tqdm.write("x"); time.time(); copy.deepcopy(model); torch.cuda.memory_allocated(); florc.log("loss", x)
max(xs, key=len); sorted(xs, key=lambda x: x.name); map(str, xs); F.relu(x, inplace=False); next_item.mean()
np.maximum(a, b); np.mean(x, 0); x.max(1, True); np.clip(x, lo, hi); np.nan_to_num(x); x.mean(axis)
torch.randn_like; np.random.get_state(); sys.stdout.write("x"); datetime.datetime.now(); Path("a").exists()
"""
IMPURE = {
    "model(x)": "an arbitrary object called",
    "train(model)": "a function of the project",
    "x.add_(1)": "in place, by its name",
    "nn.init.zeros_(w)": "in place, by its name",
    "nn.utils.clip_grad_norm_(p, 1.0)": "in place, by its name",
    "torch.add(a, b, out=c)": "writes an argument",
    "np.add(a, b, out=c)": "writes an argument",
    "F.relu(x, inplace=True)": "writes an argument",
    "np.maximum(a, b, a)": "writes an argument by its place",
    "np.exp(a, a)": "writes an argument by its place",
    "np.mean(a, 0, None, b)": "writes an argument by its place",
    "a.max(0, b)": "writes an argument by its place",
    "a.clip(0, 1, b)": "writes an argument by its place",
    "np.nan_to_num(a, False)": "in place, by an argument",
    "np.nan_to_num(a, copy=False)": "in place, by an argument",
    "F.relu(x, True)": "in place, by an argument",
    "F.embedding(i, w, max_norm=1.0)": "renormalizes the weights",
    "F.embedding(i, w, None, 1.0)": "renormalizes the weights",
    "c.subtract(x)": "a Counter's is in place",
    "a.partition(1)": "an array's is in place",
    "torch.rand(3)": "draws",
    "torch.randperm(3)": "draws",
    "torch.normal(0, 1, (3,))": "draws",
    "F.dropout(x)": "draws",
    "F.scaled_dot_product_attention(q, k, v)": "may draw, for its dropout",
    "random.random()": "draws",
    "np.random.rand()": "draws",
    "torch.manual_seed(0)": "sets the generator",
    "next(it)": "takes an item",
    "iter(loader)": "draws the loader's seed",
    "list(loader)": "goes through a loader",
    "len(list(train_loader))": None,
    "sum(it)": "uses an iterator up",
    "print(*it)": "uses an iterator up",
    "max(enumerate(loader))": None,
    "map(model, xs)": "calls the model",
    "max(xs, key=model)": "calls the model",
    "queue.get()": "takes an item: only get with a key is a look-up",
    "path.replace(b)": "renames a file: a string's replace has two arguments",
    "logger.log_it(x)": "not known",
    "wandb.log({})": "output, but not the screen's",
    "writer.add_scalar('a', 1)": "output, but not the screen's",
    "print(x, file=f)": "writes a file",
    "model.to(device)": "moves a module in place",
    "self.encoder.half()": "moves a module in place",
    "model.train()": "changes the mode",
    "xs.append(1)": "changes a list",
    "xs.sort()": "changes a list",
    "opt.step()": "changes the weights",
    "loss.backward()": "changes gradients",
    "torch.set_grad_enabled(False)": "changes the mode, as a call of its own",
    "setattr(a, 'b', 1)": "changes the object",
    "f.read()": "moves in the file",
    "open('x')": "opens a file",
    "exec('x')": "anything",
    "(lambda: x)()": "not looked into",
    "fs[0](x)": "an arbitrary object called",
}


@pytest.mark.parametrize("text", [t.strip() for t in PURE.replace("\n", ";").split(";") if "(" in t])
def test_is_pure(text):
    assert knowledge.is_pure_call(call(text))


@pytest.mark.parametrize("text", [t for t, why in IMPURE.items() if why])
def test_is_not_pure(text):
    assert not knowledge.is_pure_call(call(text))


@pytest.mark.parametrize("text", [t for t, why in IMPURE.items() if why is None])
def test_an_inner_call_makes_an_expression_impure(text):
    assert not knowledge.is_pure_expression(call(text))


def test_expressions_are_looked_through():
    pure = (
        "print(f'{sum(p.norm().item() for p in model.parameters()):.3f}', [x * 2 for x in xs], a if b"
        " else c.d[0])"
    )
    assert knowledge.is_pure_expression(call(pure))
    assert not knowledge.is_pure_expression(call("print([model(x) for x in xs])"))
    assert not knowledge.is_pure_expression(call("print([x for x in loader])"))
    assert not knowledge.is_pure_expression(call("print(train_set[3])"))  # its __getitem__ may draw


def test_names_of_the_project_are_not_pure_by_name():
    tree = ast.parse("class Meter:\n    def mean(self): self.n = 0\ndef sum(x): x.clear()")
    facts = knowledge.facts_of(tree)
    assert knowledge.is_pure_call(call("meter.mean()"))
    assert not knowledge.is_pure_call(call("meter.mean()"), facts)
    assert not knowledge.is_pure_call(call("sum(x)"), facts)


@pytest.mark.parametrize(
    ("imports", "text"),
    [
        ("from math import sqrt", "sqrt(2)"),
        ("import torch.nn.functional as fn", "fn.relu(x)"),
        ("from torch import nn", "nn.functional.mse_loss(a, b)"),
        ("import numpy", "numpy.mean(x)"),
        ("from copy import deepcopy as dc", "dc(x)"),
        ("from os import path", "path.join(a, b)"),
    ],
)
def test_imports_tell_what_a_name_means(imports, text):
    facts = knowledge.facts_of(ast.parse(imports))
    assert knowledge.is_pure_call(call(text), facts)
    if "." not in text:  # a method of that name may well be a tensor's
        assert not knowledge.is_pure_call(call(text), knowledge.facts_of(ast.parse("")))


SINKS = (
    "print(1); log.info('x'); self.logger.error('x'); writer.add_scalar('a', 1); wandb.log({});"
    " tqdm.write('x')"
)


@pytest.mark.parametrize(
    "text", [*SINKS.split("; "), "pbar.set_postfix(a=1)", "f.write('x')", "warnings.warn('x')"]
)
def test_is_a_sink(text):
    assert knowledge.is_sink_call(call(text))


@pytest.mark.parametrize(
    "text", ["model(x)", "math.log(2)", "x.log()", "len(x)", "xs.append(1)", "torch.save(a, b)"]
)
def test_is_no_sink(text):
    assert not knowledge.is_sink_call(call(text))


LIGHT = (
    "len(x); xs.append(1); 'a'.split(); math.cos(1); print(x); time.time(); d.update({});"
    " pbar.update(1); re.sub(a, b, c)"
)


@pytest.mark.parametrize("text", LIGHT.split("; "))
def test_is_light(text):
    assert knowledge.is_light_call(call(text))


HEAVY = (
    "model(x); train(); x.norm(); torch.sum(x); agent.update(batch); next(it); list(loader); time.sleep(1)"
)


@pytest.mark.parametrize("text", HEAVY.split("; "))
def test_is_not_light(text):
    assert not knowledge.is_light_call(call(text))


KINDS = {
    "torch.optim.SGD(model.parameters(), lr=0.1)": ("optimizer", ["model.parameters()"]),
    "optim.lr_scheduler.StepLR(opt, 3)": ("scheduler", ["opt"]),
    "ReduceLROnPlateau(optimizer=opt)": ("scheduler", ["opt"]),
    "DistributedDataParallel(net)": ("wrapper", ["net"]),
    "torch.compile(net)": ("wrapper", ["net"]),
    "torch.amp.GradScaler('cpu')": ("scaler", []),
    "DataLoader(data)": ("loader", []),
    "Net(3)": ("", []),
}


@pytest.mark.parametrize(("text", "expected"), KINDS.items(), ids=KINDS)
def test_constructors_tie_objects_together(text, expected):
    kind = knowledge.kind_of_call(call(text))
    assert (kind, [ast.unparse(a) for a in knowledge.widened(kind, call(text))]) == expected


@pytest.mark.parametrize("made", ["Net()", "nn.Linear(1, 1).to(d)", "copy.deepcopy(net)", "compile(net)"])
def test_what_moves_a_module_is_told_by_what_its_name_was_bound_to(made):
    facts = knowledge.facts_of(ast.parse(f"import copy\nm = {made}\nx = loss.sum()"))
    assert not knowledge.is_pure_call(call("m.double()"), facts)
    assert knowledge.is_pure_call(call("x.double()"), facts)
    assert knowledge.is_pure_call(call("m.weight.double()"), facts)
