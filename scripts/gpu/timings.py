"""Numbers out of what mmconv says, for scripts/gpu-check.sh. Python's own library only.

    timings.py line FILE        one line of what mmconv bench --json has found; status 1 where a part of the device lacks
    timings.py table FILE ...   a table of many of them; files without such a line are passed over
    timings.py whole BYTES      seconds and bytes a second of the run that smooth --json on standard input tells of
    timings.py value KEY        of the first object on standard input
    timings.py memory LANES     what --memory makes so many lanes, from two plans of smooth --json with one lane between them"""
import json, sys

PARTS = ('h2d', 'load', 'forward', 'filter', 'inverse', 'blank', 'store', 'd2h', 'resident', 'resident_masked', 'serial',
         'overlapped')
COLUMNS = [(f'device_{part}', part.replace('resident_masked', 'masked')) for part in PARTS] + [
    ('file_device', 'file GPU'), ('file_cpu', 'file CPU'), ('cpu_all_threads', 'CPU all'), ('file_swapped', 'floor')]


def objects(lines):
    """The JSON objects among the lines."""
    for line in lines:
        if line.startswith('{'):
            try:
                yield json.loads(line)
            except ValueError:
                pass


def milliseconds(found, key):
    seconds = found['lines'].get(key, {}).get('seconds_per_plane')
    return '-' if seconds is None else f'{1000 * seconds:.3g}'


def area(found):
    """What cuFFT works in over the bytes of a plane, where the bench tells."""
    bytes_a_plane = found['nx'] * found['ny'] * (8 if found['precision'] == 'f64' else 4)
    area_bytes = found.get('device_area_bytes')
    return '-' if area_bytes is None else f'{area_bytes / bytes_a_plane:.2f}'


def line(path):
    with open(path) as file:
        found = next(objects(file), None)
    if found is None:
        print('the bench has told nothing')
        return 1
    lacking = [key for key, _ in COLUMNS if milliseconds(found, key) == '-']
    if lacking:
        why = found['lines'].get(lacking[0], {}).get('not_measured', 'no reason is told')
        print(f'{len(lacking)} lines were not measured, {lacking[0]} the first: {why}')
        return 1
    told = [f'{name} {milliseconds(found, f"device_{name}")}' for name in ('resident', 'serial', 'overlapped')]
    told += [f'file {milliseconds(found, "file_device")}, CPU {milliseconds(found, "file_cpu")} ms a plane']
    start = found.get('device_start_seconds')
    print(', '.join(told) + ('' if start is None else f'; start {start:.2f} s') + f'; cuFFT area {area(found)} planes')
    return 0


def table(paths):
    rows = [['plane', 'type', 'blank', *(name for _, name in COLUMNS), 'area']]
    for path in paths:
        with open(path) as file:
            for found in objects(file):
                if 'lines' in found:
                    shape = f'{found["nx"]}x{found["ny"]}x{found["planes"]}', found['precision'], f'{found["blank_percent"]:g}%'
                    rows.append([*shape, *(milliseconds(found, key) for key, _ in COLUMNS), area(found)])
    if len(rows) == 1:
        return 0
    widths = [max(map(len, column)) for column in zip(*rows)]
    print('milliseconds a plane; area: what cuFFT works in, in planes')
    for row in rows:
        print('  '.join(cell.rjust(width) for cell, width in zip(row, widths)))
    return 0


def whole(bytes_in):
    """The last object is the file's."""
    found = list(objects(sys.stdin))
    if not found or 'seconds' not in found[-1]:
        return 1
    seconds = found[-1]['seconds']
    print(f'{seconds:.3f} s, {int(bytes_in) / 1e9 / seconds:.2f} GB/s')
    return 0


def value(key):
    found = next(objects(sys.stdin), {})
    print(found.get(key, ''))
    return 0 if key in found else 1


def memory(wanted):
    plans = [(found['lanes'], found['memory_bytes']) for found in objects(sys.stdin)]
    if len(plans) != 2 or plans[0][0] != plans[1][0] + 1:
        return 1
    (lanes, most), (_, less) = plans
    print(most - (lanes - int(wanted)) * (most - less))
    return 0


COMMANDS = {'line': line, 'value': value, 'whole': whole, 'memory': memory}

if __name__ == '__main__':
    words = sys.argv[1:]
    if words[:1] == ['table']:
        sys.exit(table(words[1:]))
    if len(words) != 2 or words[0] not in COMMANDS:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(COMMANDS[words[0]](words[1]))
