"""Damaging files on purpose: flipped bytes, and artifacts that are sound but
say something else."""
import random
import struct
import zipfile
import zlib


def flip_bytes(data, seed, count=3):
    """`data` with a few bytes changed, the same ones for the same seed."""
    rng, damaged = random.Random(seed), bytearray(data)
    for _ in range(count):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def entry_offset(data, info):
    """Where the bytes of a stored zip entry begin."""
    name, extra = struct.unpack_from("<HH", data, info.header_offset + 26)
    return info.header_offset + 30 + name + extra


def replace_in_entry(path, entry, old, new):
    """Replace the first `old` in an entry by `new` of the same length and make
    its checksums right again."""
    assert len(old) == len(new)
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(entry)
    data = bytearray(path.read_bytes())
    begin = entry_offset(data, info)
    body = data[begin:begin + info.file_size]
    at = body.index(old)
    body[at:at + len(old)] = new
    data[begin:begin + info.file_size] = body
    before = struct.pack("<I", info.CRC)
    after = struct.pack("<I", zlib.crc32(body))
    local = info.header_offset + 14
    if data[local:local + 4] == before:
        data[local:local + 4] = after
    # The central directory: its record holds the checksum before the sizes.
    record = data.rindex(b"PK\x01\x02", 0, data.rindex(entry.encode()))
    data[record + 16:record + 20] = after
    path.write_bytes(data)
