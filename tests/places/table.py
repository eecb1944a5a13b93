"""The probes: what the user edits, and what must come of it."""

from __future__ import annotations

from dataclasses import dataclass

NONE, ALL = 0, 3  # epochs that run again

Edit = tuple[str, str, str]  # file, a text that stands in it once, the text in its place


@dataclass(frozen=True)
class Probe:
    """One edit of the recorded program.

    executed: how many of the three epochs run again. refused: words of the reason; the edit makes another
    program. workers: of the loader, in the recorded run.
    """

    name: str
    edits: tuple[Edit, ...]
    executed: int = NONE
    refused: str = ""
    workers: int = 0


def probe(name: str, *edits: Edit, executed: int = NONE, refused: str = "", workers: int = 0) -> Probe:
    """A row."""
    return Probe(name, edits, executed, refused, workers)


def after(line: str, *code: str, file: str = "train.py") -> Edit:
    """Lines added after a line, as far indented as it is."""
    indent = line[: len(line) - len(line.lstrip())]
    return (file, line, "\n".join([line, *(indent + one for one in code)]))


def before(line: str, *code: str, file: str = "train.py") -> Edit:
    """Lines added before a line, as far indented as it is."""
    indent = line[: len(line) - len(line.lstrip())]
    return (file, line, "\n".join([*(indent + one for one in code), line]))


def imports(line: str) -> Edit:
    """An import in train.py."""
    return after("import warnings", line)


def logs_to(line: str) -> Edit:
    """An import of one of the stand-ins, which train.py finds from here on."""
    return after("from nets import Net", line)


def within(head: str, line: str) -> Edit:
    """A `with` around a line of train.py."""
    indent = line[: len(line) - len(line.lstrip())]
    return ("train.py", line, f"{indent}{head}\n    {line}")


STEP = "        optimizer.step()"
TRAIN = "        loss = train_epoch(model, loader, criterion, optimizer, callbacks)"
EPOCH = "        score = evaluate(model, criterion, data)"
LOOP = "    for epoch in range(3):"
SHOW = '        print(f"epoch {epoch} score {score:.6f}")'
LOGS = '        log.info("epoch %d loss %.6f", epoch, loss.item())'
FORWARD = "        h = self.hidden(x).relu()"

PLACES = [
    probe(
        "forward of the model", after(FORWARD, "print('h', h.mean().item())", file="nets.py"), executed=ALL
    ),
    probe(
        "forward of the loss",
        after(
            "    def forward(self, output, target):",
            "    print('target', target.sum().item())",
            file="parts.py",
        ),
        executed=ALL,
    ),
    probe(
        "forward hook",
        after("    size = output.shape[0]", "print(output.mean().item())", file="parts.py"),
        executed=ALL,
    ),
    probe(
        "backward hook",
        after("    size = grad_output[0].shape[0]", "print(grad_output[0].norm().item())", file="parts.py"),
        executed=ALL,
    ),
    probe(
        "callback",
        after("            self.best = loss", "print('best', loss)", file="parts.py"),
        executed=ALL,
    ),
    probe(
        "optimizer's step",
        after('        scale = self.param_groups[0]["lr"]', "print('scale', scale)", file="parts.py"),
        executed=ALL,
    ),
    probe("scheduler", after("        factor = 0.5 ** self.last_epoch", "print(factor)", file="parts.py")),
    probe(
        "dataset",
        after("    def __getitem__(self, i):", "    print('item', i)", file="data.py"),
        executed=ALL,
    ),
    probe("length of the dataset", after("    def __len__(self):", "    print('len')", file="data.py")),
    probe(
        "collate function",
        after("    xs, ys = zip(*rows)", "print(xs[0].sum().item())", file="parts.py"),
        executed=ALL,
    ),
    probe(
        "sampler, a generator",
        after(
            "        order = torch.randperm(self.count).tolist()", "print('first', order[0])", file="parts.py"
        ),
        executed=ALL,
    ),
    probe(
        "a generator's loop",
        after("        for index in order:", "    print('at', index)", file="parts.py"),
        executed=ALL,
    ),
    probe("another thread", after('    name = f"beside {epoch}"', "print(name)", file="parts.py")),
    probe("exit handler", after('    name = "at end"', "print(name)", file="parts.py")),
    probe("property that nobody reads", after("    def size(self):", "    print('read')", file="nets.py")),
    probe("a method before the loop", after("        super().__init__()", "print('init')", file="nets.py")),
    probe("a branch", after('            print("better than ever")', "print('branch', loss.item())")),
    probe("the epoch", after(EPOCH, "print('w', model.out.weight.norm().item())")),
    probe("a step", after(STEP, "print('w', model.out.weight.norm().item())"), executed=ALL),
    probe("another module's top", after("from torch import nn", "print('parts')", file="parts.py")),
    probe("the main module's top", after('log = logging.getLogger("train")', "print('top')")),
]

NORMS = ("def norms(model):", "    return [round(p.norm().item(), 6) for p in model.parameters()]", "", "")
TOLD = (
    "def told(function):",
    "    def inner(*args):",
    "        found = function(*args)",
    "        print('gave', found)",
    "        return found",
    "    return inner",
    "",
    "",
    "@told",
)
FORMS = [
    probe("logging", after(EPOCH, "log.info('w %f', model.out.weight.norm())")),
    probe("logging in a step", after(STEP, "log.warning('w %f', model.out.weight.norm())"), executed=ALL),
    probe("warnings", after(EPOCH, "warnings.warn(f'score {score}')")),
    probe("tqdm.write", after(EPOCH, "tqdm.write(f'score {score}')")),
    probe("stdout.write", after(EPOCH, "sys.stdout.write(f'score {score}\\n')")),
    probe("pprint", imports("from pprint import pprint"), after(EPOCH, "pprint({'score': score})")),
    probe("assert", after(EPOCH, "assert score < 1e9, score")),
    probe(
        "a board of its own",
        logs_to("from board import SummaryWriter"),
        before(LOOP, "board = SummaryWriter()"),
        after(EPOCH, "board.add_scalar('score', score, epoch)"),
    ),
    probe("wandb", logs_to("import wandb"), after(EPOCH, "wandb.log({'score': score}, step=epoch)")),
    probe(
        "mlflow in a step",
        logs_to("import mlflow"),
        after(STEP, "mlflow.log_metric('loss', loss.item(), step)"),
        executed=ALL,
    ),
    probe(
        "csv rows",
        imports("import csv"),
        before(LOOP, "table = csv.writer(open('rows.csv', 'w', newline=''))"),
        after(EPOCH, "table.writerow([epoch, score, model.out.weight.norm().item()])"),
    ),
    probe(
        "csv rows in a with of its own",
        imports("import csv"),
        after(
            EPOCH,
            "with open('rows.csv', 'a', newline='') as rows:",
            "    csv.writer(rows).writerow([epoch, score])",
        ),
    ),
    probe(
        "torch.save",
        after(
            EPOCH,
            "torch.save(model.out.weight.detach().clone(), f'w{epoch}.pt')",
            "print(torch.load(f'w{epoch}.pt').norm().item())",
        ),
    ),
    probe("helper function", before("def main():", *NORMS), after(EPOCH, "print(norms(model))")),
    probe(
        "helper in another module",
        before("class Best:", *NORMS, file="parts.py"),
        after(EPOCH, "print(parts.norms(model))"),
    ),
    probe("properties", after(EPOCH, "print(model.size, callbacks[0].percent)")),
    probe(
        "a property that prints",
        after(EPOCH, "print(model.size)"),
        after("    def size(self):", "    print('size')", file="nets.py"),
    ),
    probe(
        "decorator that prints", before("def evaluate(model, criterion, data):", *TOLD), refused="decorators"
    ),
    probe(
        "a function inside a function",
        after(
            EPOCH,
            "def worst():",
            "    return max(p.abs().max().item() for p in model.parameters())",
            "print(worst())",
        ),
    ),
    probe("lambda", after(EPOCH, "worst = lambda: model.out.weight.abs().max().item()", "print(worst())")),
    probe("if", after(EPOCH, "if epoch == 2:", "    print(model.out.bias.item())")),
    probe("if in a step", after(STEP, "if step == 2:", "    print(model.out.bias.item())"), executed=ALL),
    probe(
        "an error that is caught",
        after(
            EPOCH, "try:", "    print(model.nothing)", "except AttributeError as error:", "    print(error)"
        ),
    ),
]

EDITS = [
    probe("f-string edited", ("train.py", SHOW, SHOW.replace(".6f", ".3e"))),
    probe("print prints more", ("train.py", SHOW, SHOW.replace('")', '", loss.item())'))),
    probe("print looks at the model", ("train.py", SHOW, SHOW.replace('")', '", model.out.bias.item())'))),
    probe("print removed", ("train.py", SHOW + "\n", "")),
    probe("print commented out", ("train.py", SHOW, "        # " + SHOW.strip())),
    probe("print becomes logging", ("train.py", SHOW, "        log.info('%d %f', epoch, score)")),
    probe("print behind an if", ("train.py", SHOW, "        if epoch > 0:\n    " + SHOW)),
    probe("log edited", ("train.py", LOGS, LOGS.replace("%d", "%03d"))),
    probe("log removed", ("train.py", LOGS + "\n", "")),
    probe(
        "a branch's print removed", ("train.py", '            print("better than ever")', "            pass")
    ),
    probe(
        "a walrus in a recorded line",
        ("train.py", "(model(x), y)\n        loss.b", "(out := model(x), y)\n        loss.b"),
        refused="changed",
    ),
]

TIMER = ("class Timer:", "    def __enter__(self):", "        return self", "",
         "    def __exit__(self, *_):", "        print('timed')", "", "")  # fmt: skip
PROFILE = "with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:"
SCHEDULE = "with torch.profiler.profile(schedule=torch.profiler.schedule(wait=1, warmup=1, active=1)):"
SEEN = "print(any('addmm' in event.key for event in seen.key_averages()))"
STEPS = "    for step, (x, y) in enumerate(loader):"
WRAPPERS = [
    probe("nullcontext", imports("import contextlib"), within("with contextlib.nullcontext():", TRAIN)),
    probe(
        "nullcontext in a step",
        imports("import contextlib"),
        within("with contextlib.nullcontext():", STEP),
        executed=ALL,
    ),
    probe("a timer", before("def main():", *TIMER), within("with Timer():", TRAIN), executed=ALL),
    probe("a timer in a step", before("def main():", *TIMER), within("with Timer():", STEP), executed=ALL),
    probe("record_function", within("with torch.profiler.record_function('step'):", STEP), executed=ALL),
    probe(
        "a profiler, and what it saw",
        ("train.py", TRAIN, f"        {PROFILE}\n    {TRAIN}\n        {SEEN}"),
        executed=ALL,
    ),
    probe("a profiler with a schedule", within(SCHEDULE, TRAIN), executed=ALL),
    probe(
        "a profiler around the epochs",
        ("train.py", "    main()\n", f"    {PROFILE}\n        main()\n    {SEEN}\n"),
        executed=ALL,
    ),
    probe(
        "a watcher that draws",
        within("with torch.profiler.record_function(str(torch.rand(1))):", STEP),
        refused="cannot be put back",
    ),
    probe("autocast", within("with torch.autocast('cpu'):", TRAIN), refused="changed"),
    probe("no_grad", within("with torch.no_grad():", EPOCH), refused="removed"),
    probe("anomaly", within("with torch.autograd.detect_anomaly():", TRAIN), refused="changed"),
]

LOADER_WORKERS = [
    probe(
        "dataset in workers",
        after(
            "    def __getitem__(self, i):", "    print(f'item {i}\\n', end='', flush=True)", file="data.py"
        ),
        executed=ALL,
        workers=2,
    ),
    probe("steps with workers", after(STEP, "print(loss.item())"), executed=ALL, workers=2),
    probe("epochs with workers", after(EPOCH, "print(model.out.bias.item())"), workers=2),
]
