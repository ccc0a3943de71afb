"""Chunks in a directory: what was committed is read exactly, or refused by name; one owner at a time."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.injector import Injector
from panewise.core.errors import CheckpointError
from panewise.storage import DirectoryChunks, disk
from panewise.storage.sealed import seal, unseal

SLOTS = ("manifest-0", "manifest-1")
STEP = 7
"""Every seventh bit: at least one of every byte, and each of the eight in turn."""


def contents(path: Path) -> dict[str, bytes | None]:
    """All chunks, each read and checked."""
    with DirectoryChunks(path) as store:
        return {name: store.get(name) for name in store.names()}


def committed(path: Path) -> dict[str, bytes | None]:
    """A store with three commits, of which the last changes one chunk, adds one and removes one."""
    with DirectoryChunks(path) as store:
        store.put("state", b"old")
        store.put("removed", b"gone")
        store.commit()
        store.put("state", b"first state")
        store.put("results", b"1,2,3")
        store.commit()
        store.put("state", b"second state")
        store.put("more", b"")
        store.remove("removed")
        store.commit()
    return {"state": b"second state", "results": b"1,2,3", "more": b""}


def unread(path: Path) -> set[str]:
    """Files of ``committed``: who owns them, which every owner writes anew, and what only the commit before needs."""
    listed = [json.loads(unseal((path / slot).read_bytes(), "")[1]) for slot in SLOTS]
    new, old = ({entry[0] for entry in entries.values()} for entries in listed)
    assert len(old - new) == 2
    return {"lock"} | old - new


def files_of(path: Path) -> list[Path]:
    return sorted(p for p in path.rglob("*") if p.is_file())


def test_what_was_committed_is_there_and_nothing_else(tmp_path: Path) -> None:
    expected = committed(tmp_path / "store")
    with DirectoryChunks(tmp_path / "store") as store:
        store.put("state", b"not committed")
        store.put("new", b"neither")
        store.remove("results")
        assert store.get("state") == b"not committed"
        assert store.names() == ["more", "new", "state"]
    assert contents(tmp_path / "store") == expected


def test_only_files_of_the_last_two_commits_are_kept(tmp_path: Path) -> None:
    with DirectoryChunks(tmp_path) as store:
        for number in range(20):
            store.put("state", b"%d" % number)
            store.commit()
    assert len(list((tmp_path / "chunks").iterdir())) == 2


def test_a_flipped_bit_in_any_byte_of_any_file_is_refused_or_does_not_matter(tmp_path: Path) -> None:
    expected = committed(tmp_path)
    refused = 0
    for file in files_of(tmp_path):
        good = file.read_bytes()
        for bit in range(0, len(good) * 8, STEP):
            bad = bytearray(good)
            bad[bit // 8] ^= 1 << bit % 8
            file.write_bytes(bad)
            try:
                assert contents(tmp_path) == expected, f"bit {bit} of {file.name}"
            except CheckpointError as error:
                refused += str(tmp_path) in str(error)
        file.write_bytes(good)
    needed = [f.stat().st_size for f in files_of(tmp_path) if f.name not in unread(tmp_path)]
    assert refused == sum(len(range(0, size * 8, STEP)) for size in needed)


def test_every_missing_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    expected = committed(tmp_path / "good")
    for file in [f.relative_to(tmp_path / "good") for f in files_of(tmp_path / "good")]:
        home = tmp_path / "bad"
        shutil.copytree(tmp_path / "good", home)
        (home / file).unlink()
        if file.name in unread(tmp_path / "good"):
            assert contents(home) == expected
        else:
            with pytest.raises(CheckpointError, match=rf"{file} ?.*is missing.*(copy|restore) "):
                contents(home)
        shutil.rmtree(home)


def test_files_that_change_places_are_refused(tmp_path: Path) -> None:
    expected = committed(tmp_path / "good")
    names = [f.relative_to(tmp_path / "good") for f in files_of(tmp_path / "good")]
    for one in names:
        for two in names:
            home = tmp_path / "bad"
            shutil.copytree(tmp_path / "good", home)
            (home / one).write_bytes((tmp_path / "good" / two).read_bytes())
            (home / two).write_bytes((tmp_path / "good" / one).read_bytes())
            try:
                assert contents(home) == expected, (one, two)
                assert {one.name, two.name} <= unread(tmp_path / "good") | set(SLOTS) or one == two
            except CheckpointError:
                pass
            shutil.rmtree(home)


def test_files_of_another_store_of_equal_contents_are_refused(tmp_path: Path) -> None:
    expected = committed(tmp_path / "good")
    committed(tmp_path / "other")
    pairs = zip(files_of(tmp_path / "good"), files_of(tmp_path / "other"), strict=True)
    for file, strange in [(one.relative_to(tmp_path / "good"), two) for one, two in pairs]:
        home = tmp_path / "bad"
        shutil.copytree(tmp_path / "good", home)
        (home / file).write_bytes(strange.read_bytes())
        if file.name in unread(tmp_path / "good"):
            assert contents(home) == expected
        else:
            with pytest.raises(CheckpointError, match=r"swapped|do not belong together"):
                contents(home)
        shutil.rmtree(home)


def test_an_old_copy_of_a_manifest_is_refused(tmp_path: Path) -> None:
    committed(tmp_path)
    old = (tmp_path / SLOTS[0]).read_bytes()
    committed(tmp_path)
    (tmp_path / SLOTS[0]).write_bytes(old)
    with pytest.raises(CheckpointError, match="do not belong together"):
        contents(tmp_path)


@pytest.mark.parametrize("lost", SLOTS)
def test_the_remedy_goes_back_to_the_commit_before(tmp_path: Path, lost: str) -> None:
    expected = committed(tmp_path)
    (tmp_path / lost).write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"is damaged.*copy (manifest-\d) over (manifest-\d)") as error:
        contents(tmp_path)
    good, bad = (word for word in str(error.value).split() if word.startswith("manifest-"))
    shutil.copy(tmp_path / good, tmp_path / bad)
    before = {"state": b"first state", "results": b"1,2,3", "removed": b"gone"}
    newest = "manifest-0"
    assert contents(tmp_path) == (before if lost == newest else expected)
    with DirectoryChunks(tmp_path) as store:
        store.put("state", b"on")
        store.commit()
    assert contents(tmp_path)["state"] == b"on"


def test_when_no_state_is_complete_the_error_says_so(tmp_path: Path) -> None:
    committed(tmp_path)
    for file in (tmp_path / "chunks").iterdir():
        file.write_bytes(b"x")
    with pytest.raises(CheckpointError, match=r"No other state .* is complete: restore the directory"):
        contents(tmp_path)


def test_another_version_is_refused_by_name_and_a_damaged_version_as_damaged(tmp_path: Path) -> None:
    committed(tmp_path)
    path = tmp_path / SLOTS[0]
    header, inside = unseal(path.read_bytes(), path)
    path.write_bytes(b"".join(seal(header, inside, version=9)))
    with pytest.raises(CheckpointError, match=r"manifest-0 was made by version 9 of panewise's state, this is version "
                                              r"6: start again with an empty directory, or go on with the version of "
                                              r"panewise that made it$"):
        contents(tmp_path)
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "query.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"written by panewise 0\.1 .*go on with panewise 0\.1, or start"):
        contents(tmp_path / "first")


def test_a_directory_of_others_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").write_text("")
    with pytest.raises(CheckpointError, match=r"is not empty, and no checkpoint .*holiday\.jpg"):
        DirectoryChunks(tmp_path)
    committed(tmp_path / "store")
    for slot in SLOTS:
        (tmp_path / "store" / slot).unlink()
    with pytest.raises(CheckpointError, match="manifest-0 and manifest-1 are missing"):
        contents(tmp_path / "store")


# -- one owner


def test_a_second_owner_is_refused_by_the_name_of_the_first(tmp_path: Path) -> None:
    message = rf"in use by process {os.getpid()} on .*, which began at 20\d\d-\d\d-\d\dT.*: one run"
    with DirectoryChunks(tmp_path), pytest.raises(CheckpointError, match=message):
        DirectoryChunks(tmp_path)
    DirectoryChunks(tmp_path).close()


OWNER = """
import sys
from panewise.storage import DirectoryChunks
store = DirectoryChunks(sys.argv[1])
store.put("state", b"of the first")
store.commit()
store.put("state", b"unfinished")
print("owned", flush=True)
sys.stdin.read()
"""


def test_a_living_process_is_not_taken_over_and_a_killed_one_is(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "owned\n"
        with pytest.raises(CheckpointError, match=f"in use by process {first.pid} on "):
            DirectoryChunks(tmp_path)
        first.kill()
    assert contents(tmp_path) == {"state": b"of the first"}


def test_a_child_does_not_keep_the_lock_of_a_dead_parent(tmp_path: Path) -> None:
    forking = OWNER.replace('print("owned"', 'import os\nif os.fork() == 0: print("owned"').replace(
        "sys.stdin.read()", "sys.stdin.read()\n")
    with subprocess.Popen([sys.executable, "-c", forking, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "owned\n"
        os.kill(first.pid, 9)
        os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)
        assert contents(tmp_path) == {"state": b"of the first"}


def test_an_owner_that_lost_its_lock_cannot_commit_any_more(tmp_path: Path) -> None:
    first = DirectoryChunks(tmp_path)
    first.put("state", b"of the first")
    first.commit()
    (tmp_path / "lock").unlink()  # as on a file system that does not pass locks on
    second = DirectoryChunks(tmp_path)
    first.put("state", b"too late")
    with pytest.raises(CheckpointError, match=rf"no longer owned by this run.*taken over by process {os.getpid()} on"):
        first.commit()
    second.put("state", b"of the second")
    second.commit()
    first.close()
    second.close()
    assert contents(tmp_path) == {"state": b"of the second"}


def test_an_owner_whose_directory_went_on_without_it_cannot_commit(tmp_path: Path) -> None:
    first = DirectoryChunks(tmp_path)
    lock = (tmp_path / "lock").read_bytes()
    unlocked = OWNER.replace("store = ", "import fcntl; fcntl.flock = lambda *_: None\nstore = ")
    with subprocess.Popen([sys.executable, "-c", unlocked, str(tmp_path)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "owned\n"
    (tmp_path / "lock").write_bytes(lock)
    first.put("state", b"too late")
    with pytest.raises(CheckpointError, match="changed by another run"):
        first.commit()
    first.close()
    assert contents(tmp_path) == {"state": b"of the first"}


# -- disks


@pytest.mark.parametrize("fault", ["ENOSPC", "EIO", "EROFS", "EACCES", "ESTALE"])
def test_a_disk_that_fails_is_an_error_with_its_reason_and_nothing_is_half_done(tmp_path: Path, fault: str) -> None:
    expected = committed(tmp_path)
    for at in range(20):
        injector = Injector(at, fault)
        said = ""
        with DirectoryChunks(tmp_path) as store, disk.injected(injector):
            try:
                store.put("state", b"third state")
                store.commit()
            except CheckpointError as error:
                said = str(error)
        if not injector.struck:
            assert at > 5
            break
        assert str(tmp_path) in said
        assert os.strerror(getattr(errno, fault)) in said
        now = contents(tmp_path)
        assert now in (expected, expected | {"state": b"third state"})
        expected = now


def test_after_a_failed_commit_nothing_more_is_committed_by_this_owner(tmp_path: Path) -> None:
    with DirectoryChunks(tmp_path) as store:
        store.put("state", b"1")
        with disk.injected(Injector(0, "EIO")), pytest.raises(CheckpointError, match="Input/output error"):
            store.commit()
        with pytest.raises(CheckpointError, match=r"a commit has failed.*start again from the directory"):
            store.commit()


def test_a_directory_that_was_removed_is_an_error(tmp_path: Path) -> None:
    store = DirectoryChunks(tmp_path / "store")
    shutil.rmtree(tmp_path / "store")
    with pytest.raises(CheckpointError, match="cannot be written: No such file or directory"):
        store.put("state", b"1")
    store.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_is_an_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(CheckpointError, match="cannot be a checkpoint directory: Permission denied"):
        DirectoryChunks(tmp_path)
    tmp_path.chmod(0o700)


def test_a_file_size_limit_is_an_error(tmp_path: Path) -> None:
    limited = """
import resource, sys
from panewise.core.errors import CheckpointError
from panewise.storage import DirectoryChunks
store = DirectoryChunks(sys.argv[1])
store.put("state", b"small")
store.commit()
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    store.put("state", bytes(100_000))
except CheckpointError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", limited, str(tmp_path)], capture_output=True, text=True, check=True)
    assert "cannot be written: File too large" in said.stdout
    assert contents(tmp_path) == {"state": b"small"}


def test_manifests_say_what_must_be_there(tmp_path: Path) -> None:
    committed(tmp_path)
    header, listed = unseal((tmp_path / "manifest-0").read_bytes(), "")
    assert (header["kind"], header["number"]) == ("manifest", 4)
    for file, length, _ in json.loads(listed).values():
        assert (tmp_path / "chunks" / file).stat().st_size == length
