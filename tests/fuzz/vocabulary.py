"""The vocabulary of generated programs: kinds of values, and what a program may do with each.

Templates are statements or expressions with these words in them:

    $p   a place of the kind (a name, an attribute, an item)
    $q   another place of the same kind, or the same one
    $a   a place of any kind
    $n   a number        $i  a small whole number, not negative        $k  a key (a string)
    $o   the optimizer that belongs to a model, $s its scheduler

A statement may have several lines. Every one of them must be right whatever the value has become: programs
may fail, but should seldom. What is shown must be the same in every run of the program.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """What can be done with one kind of value.

    Attributes:
        inits: expressions that make one.
        ops: statements that change one.
        reads: expressions that give a number.
        shows: expressions that a probe may print.
        needs: "torch", "numpy" or "".
    """

    inits: tuple[str, ...]
    ops: tuple[str, ...]
    reads: tuple[str, ...]
    shows: tuple[str, ...]
    needs: str = ""
    weight: int = 2


# what every kind may do: be bound anew, be an alias, be copied
ANY_OPS = ("$p = $q", "$p = copy.copy($q)", "$p = copy.deepcopy($p)", "$p, $q = $q, $p", "bag.append($p)",
           "registry[$k] = $p", "keep.what = $p", "keep.pair = ($p, $q)")
ANY_SHOWS = ("$p is $q", "type($p).__name__", "keep.what is $p", "any(one is $p for one in bag)",
             "sorted(name for name, one in registry.items() if one is $p)", "keep.pair[0] is $q")
# kinds that cannot be copied, or should stay one object
UNCOPIED = frozenset({"iterator", "generator", "file", "closure", "counting", "net", "loader", "tgen", "weak",
                      "module",
                      "classes", "memo", "patched"})
# immutable values that are kept by value: which of two equal ones it is, no replay knows
ATOMS = frozenset({"int", "float", "text", "decimal", "day", "scalar", "file"})


def shows_of(kind: str) -> tuple[str, ...]:
    """What a probe may print of a kind, identities too where they mean something."""
    if kind in ATOMS:
        return KINDS[kind].shows
    return KINDS[kind].shows + (ANY_SHOWS[:2] if kind in UNCOPIED else ANY_SHOWS)


PLAIN: dict[str, Kind] = {
    "int": Kind(
        ("0", "1", "$i", "-3", "10**20"),
        ("$p += 1", "$p = ($p * 3 + $i) % 1009", "$p ^= $i", "$p = -$p", "$p = ($p << 1) % 10007",
         "$p -= $i"),
        ("$p % 97", "-$p % 7"), ("$p", "$p % 2 == 0", "f'{$p:>6}'"), weight=3),
    "float": Kind(
        ("0.0", "1.5", "float('inf')", "-0.0"),
        ("$p += $n", "$p = 0.9 * $p + 0.1 * $n", "$p = math.tanh($p)", "$p = random.random()",
         "$p = max($p, $n)",
         "$p = math.nan if $p > 500 else $p / 2", "$p, last = $n, $p"),
        ("math.atan($p)", "math.tanh($p)"), ("$p", "f'{$p:.4f}'", "$p != $p", "math.copysign(1, $p)"),
        weight=3),
    "text": Kind(
        ("''", "'start'"),
        ("$p += str($i)", "$p = $p[-9:] + 'x'", "$p = f'{$p}|{$i}'[-20:]",
         "$p = $p.replace('1', 'one')[:12]"),
        ("len($p)", "$p.count('1')"), ("$p", "repr($p)", "$p.upper()")),
    "raw": Kind(
        ("bytearray(b'abc')", "bytearray(4)"),
        ("$p.append($i % 200)", "$p[0] = $i % 200", "$p += b'z'", "$p = bytearray(bytes($p)[-6:])",
         "$p.reverse()",
         "memoryview($p)[0:1] = bytes([$i % 9])"),
        ("sum($p) % 97", "len($p)"), ("$p", "bytes($p)", "$p.hex()"), weight=1),
    "maybe": Kind(
        ("None",),
        ("$p = None if $p is not None else [$n]", "$p = ($p or []) + [$i]", "$p = $p and $p[-2:]"),
        ("0 if $p is None else len($p)",), ("$p", "$p is None")),
    "tuple": Kind(
        ("(1, 2)", "()", "(0, [1])"),
        ("$p = (*$p[-3:], $n)", "$p = ($i, *$p[:2])", "first, *rest = *$p, $n", "$p = tuple(reversed($p))",
         "$p += ($i,)", "$p = $p[-4:]"),
        ("len($p)",), ("$p", "$p[-1:]", "len($p)")),
    "list": Kind(
        ("[$n, $n]", "[]", "list(range($i))", "[0] * 4"),
        ("$p.append($n)", "$p.extend([$n, $i])", "$p.insert(0, $n)", "if $p: $p.pop()",
         "if len($p) > 4: del $p[:2]",
         "$p.sort()", "$p.reverse()", "$p = $p + [$n]", "$p += [$n]", "$p[:] = $p[-5:]", "$p = sorted($p)",
         "random.shuffle($p)", "if $p: $p[$i % len($p)] = $n", "$p = [v * 2 % 97 for v in $p]",
         "$p[1:1] = [$n]",
         "heapq.heapify($p); heapq.heappush($p, $n)", "bisect.insort($p, $n)", "$p.clear()", "$p *= 1",
         "$p = $p * 2; del $p[6:]", "$p.append($p[-1] if $p else 0)"),
        ("len($p)", "sum($p) % 97", "($p or [0])[-1]", "max($p, default=1)"),
        ("$p", "len($p)", "sum($p)", "[type(v).__name__ for v in $p]", "$p == $q", "sorted($p)[:3]"),
        weight=6),
    "rows": Kind(
        ("[[1], [2, 3]]", "[[]] * 3", "[[0] * 2 for _ in range(3)]", "[[1], (2, [3])]"),
        ("$p[$i % len($p)] = [$n]", "$p.append([$n])", "$p[0], $p[-1] = $p[-1], $p[0]", "$p.append($p[0])",
         "$p[-1] = list($p[-1])", "$p[:] = $p[-4:]", "$p = [list(row) for row in $p]",
         "for row in $p: isinstance(row, list) and row.append($i)", "$p[0] = list($p[0])[-3:]"),
        ("len($p)", "sum(map(len, $p))"),
        ("$p", "[len(row) for row in $p]", "$p[0] is $p[-1]", "len({id(row) for row in $p})"), weight=4),
    "dict": Kind(
        ("{'a': 1}", "{}", "dict(b=$n, c=2)"),
        ("$p[$k] = $n", "$p.setdefault($k, $n)", "$p.update(z=$n)", "$p.pop($k, 0)", "$p = {**$p, $k: $n}",
         "$p |= {$k: $n}", "if $p: $p.popitem()", "$p = dict(sorted($p.items(), key=str))",
         "$p[$k] = $p.get($k, 0) + 1",
         "$p = {k: v for k, v in $p.items() if k != $k}", "$p[$i] = $k", "$p.pop($i, None)",
         "for name in list($p): $p[name] = $n"),
        ("len($p)", "sum(v for v in $p.values() if isinstance(v, (int, float))) % 97"),
        ("$p", "list($p)", "list($p.values())", "$p.get($k)", "$p == $q", "len($p)"), weight=5),
    "lists by name": Kind(
        ("collections.defaultdict(list)", "{'a': []}", "collections.OrderedDict(a=[1])"),
        ("$p.setdefault($k, []).append($n)", "$p[$k] = []", "$p['alias'] = $p.get($k, [])",
         "$p.pop($k, None)",
         "for row in $p.values(): row.append($i)", "$p[$k] = $p.setdefault($k, [])[-3:]",
         "$p.setdefault($k, []).extend([$n, $i])"),
        ("len($p)", "sum(map(len, $p.values()))"),
        ("dict($p)", "{k: len(v) for k, v in $p.items()}", "$p.get($k) is $p.get('alias')", "list($p)"),
        weight=4),
    "ordered": Kind(
        ("collections.OrderedDict(a=1, b=2)", "collections.OrderedDict()"),
        ("$p[$k] = $n", "$p.move_to_end($k) if $k in $p else None", "if len($p) > 3: $p.popitem(last=False)",
         "$p.pop($k, None)"),
        ("len($p)",), ("list($p.items())", "list(reversed($p))", "next(iter($p), None)")),
    "counter": Kind(
        ("collections.Counter()", "collections.Counter('abca')"),
        ("$p[$k] += 1", "$p.update([$k, $k])", "$p.subtract({$k: 1})", "$p += collections.Counter(x=1)",
         "del $p[$k]"),
        ("$p.total()", "$p[$k]"), ("$p", "$p.most_common(2)", "sorted($p.elements())", "$p[$k]")),
    "set": Kind(
        ("{1, 2}", "set()", "{'a', 'b'}"),
        ("$p.add($i)", "$p.discard($i)", "$p |= {$i, $k}", "$p ^= {$i}", "$p = {v for v in $p if v != $i}",
         "$p.add($k)",
         "$p -= {$k}", "$p.clear()"),
        ("len($p)", "int($i in $p)"), ("sorted($p, key=str)", "len($p)", "$i in $p", "$p", "list($p)"),
        weight=3),
    "frozen": Kind(
        ("frozenset()", "frozenset('ab')"), ("$p |= {$k}", "$p -= {$k}",
                                             "$p = frozenset(list(sorted($p))[:2])"),
        ("len($p)",), ("sorted($p)", "len($p)"), weight=1),
    "deque": Kind(
        ("collections.deque([1, 2], maxlen=5)", "collections.deque()", "collections.deque([[1], [2]])"),
        ("$p.append($n)", "$p.appendleft($i)", "$p.rotate(1)", "if $p: $p.popleft()", "$p.extend([$n, $i])",
         "while len($p) > 6: $p.pop()", "$p.reverse()", "if $p: $p[0] = $n"),
        ("len($p)",), ("list($p)", "$p", "$p.maxlen"), weight=3),
    "decimal": Kind(
        ("decimal.Decimal('1.1')", "fractions.Fraction(1, 3)"),
        ("$p = ($p * 3 + $i) % 7", "$p += $i", "$p = -$p"), ("int($p) % 97",), ("$p", "float($p)"), weight=1),
    "day": Kind(
        ("datetime.date(2024, 2, 27)", "datetime.datetime(2024, 2, 27, 12)"),
        ("$p += datetime.timedelta(days=$i)", "$p = $p.replace(day=1)"), ("$p.day",),
        ("$p", "$p.isoformat()"), weight=1),
    "numbers": Kind(
        ("array.array('d', [1, 2])", "array.array('d')"),
        ("$p.append($n)", "if $p: $p[0] = $n", "$p.reverse()", "$p = $p[-4:]"),
        ("len($p)",), ("$p", "$p.tolist()"), weight=1),
    "lines": Kind(
        ("io.StringIO()", "io.StringIO('ab')"), ("print($i, file=$p)", "$p.write('x')", "$p.seek(0)",
                                                 "$p.truncate(3)"),
        ("len($p.getvalue())", "$p.tell()"), ("$p.getvalue()", "$p.tell()"), weight=1),
    "names": Kind(
        ("types.SimpleNamespace(n=0, xs=[])",),
        ("$p.n += 1", "$p.xs.append($n)", "$p.xs = list($p.xs)", "$p.__dict__.update(m=$n)",
         "$p.xs = $p.xs[-3:]", "vars($p).pop('m', None)", "setattr($p, $k, $n)"),
        ("$p.n", "len($p.xs)"), ("$p", "sorted(vars($p))", "$p.xs is $q.xs")),
    "point": Kind(
        ("Point(1, [2])", "Point(0, [])"),
        ("$p = $p._replace(x=$n)", "$p.ys.append($i)", "$p = Point($p.x, list($p.ys))",
         "$p = Point($n, $q.ys)"),
        ("$p.x % 97", "len($p.ys)"), ("$p", "$p.ys is $q.ys", "$p._asdict()")),
    "config": Kind(
        ("Config()", "Config(n=3, tags=['t'])"),
        ("$p.n += 1", "$p.tags.append($k)", "$p = dataclasses.replace($p, n=$i)", "$p.tags = $p.tags[-3:]",
         "$p.parent = $q", "$p.table[$k] = $p.tags"),
        ("$p.n", "len($p.tags)"),
        ("$p.n", "$p.tags", "sorted($p.table)", "$p.parent is $q", "$p.table.get($k) is $p.tags",
         "$p.tags is $q.tags"), weight=3),
    "slots": Kind(
        ("Slots(1)",),
        ("$p.a += 1", "$p.b = [$n]", "del $p.b\n$p.b = None", "$p.b = $p.b or $q.b", "$p.c.add($i)",
         "$p.a = $n"),
        ("$p.a % 97", "len($p.c)"), ("$p.a", "$p.b", "sorted($p.c)", "$p.b is $q.b", "hasattr($p, 'b')")),
    "meter": Kind(
        ("Meter()", "Best()", "Meter(3)"),
        ("$p.add($n)", "$p($n)", "$p.value = $n", "$p.reset()", "type($p).total += 1",
         "$p.history.append($n)",
         "with $p: $p.add(1)", "$p.note = $k", "$p.__dict__.pop('note', None)", "Meter.total += $i",
         "$p.add(len($p))",
         "$p.hook = lambda v, m=$p: m.history.append(v)\n$p.hook($i)"),
        ("$p.mean", "len($p)", "$p.count", "Meter.total % 97"),
        ("$p.mean", "$p.history", "Meter.total", "type($p).total", "vars($p).get('note')", "$p.value",
         "$p.count",
         "$p.history is $q.history", "Best.seen", "'hook' in vars($p)", "list($p)"), weight=5),
    "color": Kind(
        ("Color.RED",), ("$p = Color($p.value % 3 + 1)", "$p = Color.RED if $i % 2 else Color.BLUE"),
        ("$p.value",),
        ("$p", "$p.name", "$p is Color.RED"), weight=1),
    "chain": Kind(
        ("collections.ChainMap({'a': 1}, {'b': 2})",), ("$p[$k] = $n", "$p.maps.append({})",
                                                        "$p = $p.new_child()"),
        ("len($p)",), ("dict($p)", "len($p.maps)", "$p.maps"), weight=1),
    "closure": Kind(
        ("make_counter()", "make_counter(5)", "make_average()", "functools.partial(accumulate, [])",
         "make_nested()"),
        ("$p($n)", "got = $p($n)", "$p($i); $p($i)"), ("$p.__class__ is not None",),
        ("sorted(inner(c.cell_contents) for c in (getattr($p, '__closure__', None) or ()))",
         "getattr($p, 'args', None)"),
        weight=4),
    "counting": Kind(
        ("remember", "tally", "recall"),
        ("remember($n)", "tally($k)", "tally.calls += 1", "remember.last = $n",
         "remember.__defaults__[0].append($i)",
         "recall($i)"),
        ("tally.calls", "len(remember.__defaults__[0])"),
        ("remember.__defaults__", "tally.calls", "tally.names", "getattr(remember, 'last', None)",
         "tally.__dict__")),
    "memo": Kind(
        ("fibonacci",), ("fibonacci($i % 9)", "fibonacci.cache_clear()", "got = fibonacci($i % 12)"),
        ("fibonacci($i % 5)",), ("fibonacci.cache_info()",), weight=1),
    "classes": Kind(
        ("Meter",),
        ("Meter.total += 1", "Meter.registry.append($k)", "Best.seen = {**Best.seen, $k: $n}",
         "Meter.extra = $n",
         "Best.total = $i", "setattr(Meter, $k, $n)", "Meter.registry = list(Meter.registry)"),
        ("Meter.total % 97", "len(Meter.registry)"),
        ("Meter.total", "Best.total", "Meter.registry", "Best.seen", "getattr(Meter, 'extra', None)",
         "getattr(Best, $k, None)", "Best.registry is Meter.registry")),
    "module": Kind(
        ("helper",),
        ("helper.bump($i)", "helper.state[$k] = $n", "helper.count += 1", "helper.items.append($n)",
         "helper.items = helper.items[-3:]", "helper.Registry.add($k)", "helper.scale = $n",
         "helper.shared(bag)",
         "helper.bump = helper.bump"),
        ("helper.count", "len(helper.items)", "helper.area($i) % 97"),
        ("helper.count", "helper.state", "helper.items", "helper.Registry.names",
         "getattr(helper, 'scale', None)",
         "helper.items is helper.kept"), weight=4),
    "patched": Kind(
        ("Meter",),
        ("Meter.bonus = lambda self: self.count + $i",
         "Meter.add = traced(Meter.add) if Meter.depth() < 3 else Meter.add",
         "helper.area = lambda n: n + $i"),
        ("helper.area(2) % 97",), ("helper.area(3)", "Meter.depth()", "hasattr(Meter, 'bonus')"), weight=1),
    "weak": Kind(
        ("weakref.WeakValueDictionary()", "weakref.WeakKeyDictionary()", "weakref.WeakSet()"),
        ("hold_weakly($p, anchor)", "anchor = Meter($i)\nhold_weakly($p, anchor)", "anchor.add($n)"),
        ("len($p)",), ("len($p)", "anchor.history", "sorted(str(type(v).__name__) for v in $p)"), weight=1),
    "rng": Kind(
        ("random.Random(3)", "random.Random($i)"),
        ("$p.random()", "$p.shuffle(bag)", "$p.seed($i)", "$p.gauss(0, 1)", "got = $p.sample(range(20), 3)",
         "$p.setstate($q.getstate())"),
        ("$p.random()", "$p.randint(0, 9)", "$p.gauss(0, 1)"),
        ("$p.getstate()[1][:2]", "$p.getstate()[2]", "$p.getstate() == $q.getstate()"), weight=3),
    "global rng": Kind(
        ("random",), ("random.seed($i)", "random.random()", "random.gauss(0, 1)",
                      "rng_state = random.getstate()",
                      "random.setstate(rng_state)"),
        ("random.random()", "random.randint(0, 50)", "random.choice([1, 2, 3])"),
        ("random.getstate()[1][0]", "random.getstate()[1][-1]", "random.getstate()[2]"), weight=2),
    "iterator": Kind(
        ("itertools.cycle([1, 2, 3])", "itertools.count($i)", "iter(range(400))", "iter([1] * 50 + [2] * 50)",
         "numbers_from($i)", "zip(range(300), itertools.cycle('ab'))", "enumerate('abc' * 90)",
         "itertools.islice(itertools.count(), 500)", "map(abs, range(-300, 0))", "walk_tree(6)",
         "itertools.chain([5, 6], numbers_from(0))", "(v * 2 for v in range(400))", "reversed(range(300))",
         "itertools.accumulate(range(300))", "iter({'a': 1, 'b': 2}.items())",
         "running_mean(iter(range(300)))",
         "filter(None, range(300))"),
        ("next($p, None)", "got = next($p, None)", "bag.append(next($p, None))",
         "for _ in range(3): next($p, None)",
         "taken = list(itertools.islice($p, 2))", "for got, _ in zip($p, range(2)): bag.append(got)"),
        ("len(str(next($p, 0)))",), ("type($p).__name__", "operator.length_hint($p, -1)"), weight=4),
    "generator": Kind(
        ("primed(echo())", "primed(adder())"), ("$p.send(None)", "$p.send($n)", "got = $p.send($i)"),
        ("float($p.send(1) or 0) % 97",),
        ("$p.gi_frame is None", "type($p).__name__"), weight=2),
    "file": Kind(
        ("'log.txt'", "'data.json'", "os.path.join('out', 'part.txt')"),
        ("append_line($p, $i)", "write_text($p, str($n))", "if os.path.exists($p): os.remove($p)",
         "with open('other.txt', 'a') as out: out.write(str($i))", "got = read_text($p)",
         "os.replace($p, 'moved.txt') if os.path.exists($p) else None",
         "json.dump([$n], open('data.json', 'w'))",
         "pathlib.Path('notes.txt').write_text($k)"),
        ("len(read_text($p))", "int(os.path.exists($p))"),
        ("read_text($p)", "os.path.exists($p)", "os.path.isdir('out') and sorted(os.listdir('out'))",
         "os.path.exists('moved.txt')",
         "read_text('other.txt')"), weight=3),
    "error": Kind(
        ("None",),
        ("try:\n    fails($i)\nexcept ValueError as error:\n    $p = error", "$p = KeyError($k)",
         "try:\n    raise RuntimeError($k) from $p\nexcept RuntimeError as error:\n    $p = error"),
        ("len($p.args) if $p else 0",), ("repr($p)", "getattr($p, 'args', None)",
                                         "repr(getattr($p, '__cause__', None))"),
        weight=2),
}

NUMPY: dict[str, Kind] = {
    "array": Kind(
        ("np.zeros(4)", "np.arange(6.)[::2]", "np.ones((2, 3))[1]", "np.random.rand(5)",
         "np.arange(12.).reshape(3, 4).T[1]"),
        ("$p += $n", "$p[0] = $n", "$p *= 0.5", "$p = $p * 0.9", "np.add($p, 1, out=$p)", "$p[::2] -= 1",
         "$p.sort()",
         "np.random.shuffle($p)", "$p.fill($n)", "$p = np.append($p, $n)[-5:]", "$p[1:] = $p[:-1]",
         "$p = $p[::-1]",
         "$p = $p.copy()", "window = $p[1:]\nwindow += 1", "$p[np.argmax($p)] = 0",
         "np.clip($p, -9, 9, out=$p)"),
        ("float($p.sum() % 97)", "len($p)", "float($p[0] % 7)"),
        ("$p", "$p.tolist()", "$p.sum()", "$p.base is None", "np.shares_memory($p, $q)", "$p.flags.writeable",
         "$p.strides"),
        "numpy", 5),
    "objects": Kind(
        ("np.array([[1], 'a', None], dtype=object)",), ("$p[1] = $k", "$p[0] = [$n]", "$p[0].append($i)",
                                                        "$p = $p.copy()"),
        ("len($p[0])",), ("$p.tolist()", "$p[0] is $q[0]"), "numpy", 1),
    "records": Kind(
        ("np.zeros(3, dtype=[('a', 'i4'), ('b', 'f8')])",),
        ("$p['a'] += 1", "$p['b'][0] = $n", "$p[1] = (7, 0.5)", "view = $p['b']\nview += 1"),
        ("int($p['a'].sum())",),
        ("$p", "$p['b'].sum()"), "numpy", 1),
    "nprng": Kind(
        ("np.random.default_rng(0)", "np.random.default_rng([1, 2])",
         "np.random.Generator(np.random.MT19937(1))"),
        ("$p.random()", "$p.shuffle(bag)", "got = $p.normal()", "$p.integers(0, 5)", "$p.standard_normal(3)"),
        ("float($p.random())", "int($p.integers(0, 9))"),
        ("str($p.bit_generator.state)[:400]", "copy.deepcopy($p).random()"), "numpy", 2),
    "nprs": Kind(
        ("np.random.RandomState(3)",), ("$p.rand()", "$p.seed($i)", "$p.randn(3)", "got = $p.choice(5)"),
        ("float($p.rand())",), ("$p.get_state()[2]", "float(copy.deepcopy($p).rand())"), "numpy", 1),
    "np global": Kind(
        ("np.random",), ("np.random.rand()", "np.random.seed($i)", "np.random.randn()",
                         "np.random.permutation(4)"),
        ("float(np.random.rand())",), ("np.random.get_state()[2]", "np.random.get_state()[1][:2]"), "numpy",
        2),
    "scalar": Kind(
        ("np.float64(1.5)", "np.int64(3)", "np.float32(0.5)"), ("$p += 1", "$p = $p * 2 % 11"),
        ("float($p % 97)",),
        ("$p", "repr($p)", "type($p).__name__"), "numpy", 1),
}

TORCH: dict[str, Kind] = {
    "tensor": Kind(
        ("torch.zeros(4)", "torch.randn(3)", "torch.arange(6.)[::2]", "torch.ones(2, 3)[1]",
         "torch.arange(8.).view(2, 4).t()[1]",
         "torch.zeros(1).expand(3).clone()", "torch.full((3,), 0.5, dtype=torch.float64)"),
        ("$p.add_($n)", "$p.mul_(0.5)", "$p[0] = $n", "$p = $p * 0.5 + $n", "$p = $p.clone()",
         "$p[1:].zero_()",
         "$p.copy_(torch.flip($p, [0]))", "$p.data.add_(1)", "$p = $p.detach()", "$p.uniform_()",
         "$p = $p.view(-1)",
         "$p.clamp_(-50, 50)", "$p.numpy()[0] += 1", "part = $p[1:]\npart += 1",
         "$p = torch.cat([$p, $p])[:5]",
         "$p.lerp_(torch.ones_like($p), 0.1)", "$p = $p[::2] if len($p) > 4 else $p", "$p = $p.flip(0)",
         "$p.set_(torch.ones(3, dtype=$p.dtype))", "$p.data = $p.data.clone()", "$p.tag = $k",
         "torch.add($p, 1, out=$p)",
         "$p = $p.double() if len($p) % 2 else $p.float()", "$p += torch.rand(1).item()"),
        ("$p.sum().item() % 97", "len($p)", "float($p[0]) % 7"),
        ("$p", "$p.tolist()", "$p.sum().item()", "$p.dtype", "$p.data_ptr() == $q.data_ptr()",
         "$p.requires_grad",
         "$p.storage_offset()", "$p.stride()", "$p.untyped_storage().nbytes()", "$p.norm().item()",
         "getattr($p, 'tag', None)"),
        "torch", 6),
    "net": Kind(
        ("Net()", "Normed()", "Tied()", "Recurrent()"),
        ("fit_step($p, $o)", "fit_step($p, $o)", "loss = fit_step($p, $o)",
         "loss = $p(torch.randn(4, 3)).pow(2).mean()\n$o.zero_grad()\nloss.backward()\n$o.step()",
         "$s.step()", "$o.param_groups[0]['lr'] *= 0.9",
         "with torch.no_grad():\n    for w in $p.parameters(): w.mul_(0.99)",
         "$p.load_state_dict(copy.deepcopy($p.state_dict()))", "$p.eval()", "$p.train()", "$p.zero_grad()",
         "$o.zero_grad(set_to_none=False)", "nn.utils.clip_grad_norm_($p.parameters(), 1.0)", "$p.calls += 1",
         "best = {name: value.clone() for name, value in $p.state_dict().items()}", "best = $p.state_dict()",
         "best = copy.deepcopy($p.state_dict())", "if best: $p.load_state_dict(best, strict=False)",
         "ema = copy.deepcopy($p)",
         "next($p.parameters()).requires_grad_(False)", "$p.seen.add_(1)",
         "torch.save($p.state_dict(), 'net.pt')",
         "if os.path.exists('net.pt'): $p.load_state_dict(torch.load('net.pt'), strict=False)",
         "$p(torch.randn(2, 3)).sum().backward()",
         "$p.log.append(float(loss))", "$p.register_buffer('extra', torch.ones(2))",
         "$p.fc.weight.data.clamp_(-1, 1)",
         "$o.state.clear()", "losses.append(fit_step($p, $o))", "$p.fc.weight.grad = None",
         "with torch.no_grad(): out = $p(torch.ones(1, 3))", "nn.init.normal_($p.fc.weight)",
         "grad_total.append(sum(w.grad.abs().sum().item() for w in $p.parameters() if w.grad is not None))",
         "$o.load_state_dict(copy.deepcopy($o.state_dict()))",
         "$p.fc.bias.add_(0.0) if not $p.fc.bias.requires_grad else None"),
        ("$p.fc.weight.sum().item() % 97", "float($p.calls)"),
        ("$p.fc.weight.norm().item()", "$p.training", "[w.sum().item() for w in $p.parameters()]", "$p.calls",
         "{name: value.sum().item() for name, value in $p.state_dict().items()}", "$o.param_groups[0]['lr']",
         "len($o.state)",
         "$o.param_groups[0]['params'][0] is next($p.parameters())", "$p.fc.weight.grad is None",
         "$p.seen.tolist()",
         "[w.grad is None for w in $p.parameters()]", "$s.last_epoch",
         "[w.requires_grad for w in $p.parameters()]",
         "sorted($o.state_dict()['state'])",
         "[v.sum().item() for st in $o.state.values() for v in st.values() if torch.is_tensor(v)]",
         "sum(w.grad.sum().item() for w in $p.parameters() if w.grad is not None)", "$p.log[-2:]",
         "hasattr($p, 'extra')",
         "best and sorted(best)", "best and [v.sum().item() for v in best.values()]",
         "ema and ema.fc.weight.sum().item()",
         "loss if isinstance(loss, float) else loss.item()", "losses", "grad_total", "$s.get_last_lr()",
         "$p.fc.weight.is_leaf", "best and best['fc.weight'].data_ptr() == $p.fc.weight.data_ptr()"),
        "torch", 8),
    "tgen": Kind(
        ("torch.Generator().manual_seed(3)",),
        ("torch.rand(2, generator=$p)", "$p.manual_seed($i)",
         "got = torch.randperm(4, generator=$p).tolist()"),
        ("torch.rand(1, generator=$p).item()",),
        ("$p.get_state().sum().item()", "$p.initial_seed()"), "torch", 2),
    "torch rng": Kind(
        ("torch",), ("torch.rand(1)", "torch.manual_seed($i)", "torch.randn(3)", "torch.randperm(4)"),
        ("torch.rand(1).item()", "torch.randint(0, 9, (1,)).item()"),
        ("torch.get_rng_state().sum().item()", "torch.initial_seed()"), "torch", 2),
    "loader": Kind(
        ("DataLoader(TensorDataset(torch.arange(8.)), batch_size=3, shuffle=True)",
         "DataLoader(Squares(6), batch_size=2)",
         "DataLoader(TensorDataset(torch.randn(6, 3)), batch_size=4)"),
        ("for batch in $p: total_seen.append(batch[0].sum().item())", "batch = next(iter($p))",
         "got = [len(batch[0]) for batch in $p]"),
        ("len($p)",), ("len($p)", "total_seen[-3:]", "getattr($p.dataset, 'asked', None)"), "torch", 3),
}

KINDS: dict[str, Kind] = {**PLAIN, **NUMPY, **TORCH}
