"""The control of the tests on shared file systems: two planes of 2880 bytes share a block; one node writes the one, another
the other, both wait for the server, and then we look at what it holds. Naive ways of writing must lose bytes here, or the
tests that mmconv passes test nothing; the way of mmconv must not.
    lost.py SERVER A B nfs|fuse|local       the same folder as the server and as two nodes see it"""
import mmap, os, sys

server, node_a, node_b, kind = sys.argv[1:]
PLANE, LENGTH = 2880, 4 * 4096
HALVES = [(0, PLANE), (PLANE, 2 * PLANE)]
BLOCKS = [(0, 2 * 4096), (2 * 4096, LENGTH)]


class Mapped:
    """A shared map of the whole file."""

    def __init__(self, path):
        self.file = os.open(path, os.O_RDWR)
        self.map = mmap.mmap(self.file, LENGTH)

    def write(self, start, data):
        self.map[start:start + len(data)] = data

    def sync(self):
        self.map.flush()
        os.fsync(self.file)
        self.map.close()
        os.close(self.file)


class Positioned:
    """pwrite(2) through a descriptor that may read too, or may not."""

    def __init__(self, path, flags):
        self.file = os.open(path, flags)

    def write(self, start, data):
        os.pwrite(self.file, data, start)

    def sync(self):
        os.fsync(self.file)
        os.close(self.file)


def read_and_write(path):
    return Positioned(path, os.O_RDWR)


def write_only(path):
    return Positioned(path, os.O_WRONLY)


def lost(number, first, second, parts):
    """How many bytes of the two parts the server does not have."""
    name = f'control-{number}'
    with open(os.path.join(server, name), 'wb') as file:
        file.write(bytes(LENGTH))
        os.fsync(file.fileno())
    (a, a_end), (b, b_end) = parts
    writers = first(os.path.join(node_a, name)), second(os.path.join(node_b, name))
    writers[0].write(a, b'A' * (a_end - a))
    writers[1].write(b, b'B' * (b_end - b))
    for writer in reversed(writers):
        writer.sync()
    with open(os.path.join(server, name), 'rb') as file:
        held = file.read()
    os.unlink(os.path.join(server, name))
    return (a_end - a) - held[a:a_end].count(b'A') + (b_end - b) - held[b:b_end].count(b'B')


# Who writes, which parts, and on which kinds of file system bytes must be lost.
CASES = [
    ('mapped by both', Mapped, Mapped, HALVES, {'nfs', 'fuse'}),
    ('mapped by one, write-only by the other', Mapped, write_only, HALVES, {'nfs', 'fuse'}),
    ('read-write by both', read_and_write, read_and_write, HALVES, {'nfs'}),
    ('write-only by both', write_only, write_only, HALVES, set()),
    ('write-only by both, whole blocks', write_only, write_only, BLOCKS, set()),
]
wrong = 0
for number, (label, first, second, parts, where) in enumerate(CASES):
    bytes_lost = lost(number, first, second, parts)
    expected = kind in where
    wrong += (bytes_lost > 0) != expected
    print(f"{kind}, {label}: {bytes_lost} bytes lost{'' if (bytes_lost > 0) == expected else ', UNEXPECTED'}")
sys.exit(wrong > 0)
