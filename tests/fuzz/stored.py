"""What lies on disk: models (damaged, forged, and used), public data sets, campaigns."""

import contextlib
import json
import sqlite3
import traceback
import warnings
import zipfile

import numpy as np

from fuzz import inputs
from fuzz.inputs import odd, pick, value


def models(rng, folder):
    """A damaged file, or one forged on purpose. Loading refuses in a sentence or gives a model.

    A forged model may answer nonsense or fail in any words of Python's, but no kernel may leave its arrays, which the
    fast ones would do without a word.
    """
    import podium

    from suites.models import MODELS

    name = pick(rng, list(MODELS))
    make, answers = MODELS[name]
    path = folder / "m.podium"
    podium.save(make(), path)
    if rng.random() < 0.3:
        path.write_bytes(inputs.damaged(rng, path.read_bytes()))
    else:
        forge(rng, path)
    model = podium.load(path)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answers(model)
    except IndexError as problem:
        frames = traceback.extract_tb(problem.__traceback__)
        if "kernels" in frames[-1].filename:
            raise
        return "refused"
    except Exception:
        return "refused"
    return "done"


def forge(rng, path):
    """A file of ours, whole, in which one thing says something else."""
    with zipfile.ZipFile(path) as archive:
        parts = {each: archive.read(each) for each in archive.namelist()}
    header = json.loads(parts["podium.json"])
    arrays = [each for each in parts if each.endswith(".npy")]
    if arrays and rng.random() < 0.3:
        import io

        file = io.BytesIO()
        made = inputs.array(rng, *(int(rng.integers(0, 4)) for _ in range(int(rng.integers(1, 3)))))
        np.save(file, made.astype(float) if made.dtype.kind in "biuf" else made, allow_pickle=True)
        parts[pick(rng, arrays)] = file.getvalue()
    else:
        spoil(rng, header["model"])
    parts["podium.json"] = json.dumps(header).encode()
    if odd(rng, 0.2):
        each = pick(rng, list(parts))
        parts[each] = inputs.damaged(rng, parts[each])
    with zipfile.ZipFile(path, "w") as archive:
        for each, data in parts.items():
            archive.writestr(each, data)


def spoil(rng, node):
    """Change one leaf, key or branch somewhere in a JSON tree."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = pick(rng, keys)
        if isinstance(node[key], dict | list) and node[key] and rng.random() < 0.85:
            node = node[key]
            continue
        match int(rng.integers(3)):
            case 0:
                del node[key]
            case 1:
                node[key] = pick(
                    rng,
                    (None, -1, 0, 1, 10**30, 0.5, "x", [], {}, [[]], {"array": 0}, {"tuple": 3}, {"object": "Ranking"}),
                )
            case _ if isinstance(node, dict):
                node[pick(rng, ("x", "array", "object", "tuple", "dict"))] = node.pop(key)
        return


def datasets(rng, folder):
    from podium.datasets import load_graded, load_multilabel

    graded = {
        "abalone": ("abalone.csv", b"sex,a,b,rings\nM,0.1,0.2,7\nF,0.2,0.3,12\nI,1,2,3\n"),
        "california": ("california_housing.csv", b"a,b,value\n1,2,150000\n2,3,90000\n"),
        "parkinsons": (
            "parkinsons_updrs.csv",
            b"subject#,age,motor_UPDRS,total_UPDRS,x\n1,70,20,28.5,1\n2,60,9,11,2\n",
        ),
        "mslr": ("msn1.fold1.train.5k.txt", b"0 qid:1 1:3 2:0.5\n2 qid:1 1:1 2:0\n"),
    }
    if rng.random() < 0.6:
        name = pick(rng, list(graded))
        file, data = graded[name]
        (folder / file).write_bytes(inputs.damaged(rng, data) if rng.random() < 0.7 else data)
        load_graded(value(rng) if odd(rng, 0.1) else name, folder)
        return
    arrays = {
        "X_data": np.ones(3), "X_indices": np.array([0, 1, 0]), "X_indptr": np.array([0, 2, 3]), "X_shape": [2, 2],
        "Y_indices": np.array([0, 1]), "Y_indptr": np.array([0, 1, 2]), "Y_shape": [2, 2], "n_train": 1,
    }  # fmt: skip
    if odd(rng, 0.6):
        each = pick(rng, list(arrays))
        arrays[each] = pick(rng, (inputs.array(rng, 3), np.array([0, 9, -1]), np.array([2, 1, 0]), np.array("x")))
        if rng.random() < 0.2:
            del arrays[each]
    np.savez(folder / "yeast.npz", **arrays)
    if odd(rng, 0.4):
        (folder / "yeast.npz").write_bytes(inputs.damaged(rng, (folder / "yeast.npz").read_bytes()))
    X, Y, _ = load_multilabel(value(rng) if odd(rng, 0.1) else "yeast", folder)
    X.toarray(), Y.toarray()


def campaigns(rng, folder):
    """A campaign written, spoilt below its own rules, and read again both ways."""
    from podium.store import open_store
    from podium.store.file import is_campaign_file, read_campaign_file

    from suites.store import new_campaign, vote

    path = folder / "c.db"
    with open_store(str(path), new=True) as store:
        made = new_campaign(store, items=4)
        for k in range(3):
            vote(store, made, name=f"v{k}", left=k, right=k + 1, outcome=pick(rng, (1.0, 0.5, 0.0, None)))
    if odd(rng, 0.5):
        path.write_bytes(inputs.damaged(rng, path.read_bytes()))
    elif odd(rng, 0.8):
        spoil_rows(rng, path)
    assert is_campaign_file(str(path)) in (True, False)
    names = (str(path), f"{path}#tea", f"{path}#x", "", str(folder)) if odd(rng, 0.2) else (str(path),)
    read_campaign_file(pick(rng, names))
    with open_store(str(path)) as store:
        store.read(lambda reader: reader.campaigns())


def spoil_rows(rng, path):
    """One cell of one table becomes something else; what SQLite itself refuses stays."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for trigger in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{trigger[0]}"')
        for _ in range(3):
            table = pick(rng, [name for name in tables if not name.startswith("sqlite")])
            columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
            cell = pick(rng, (None, -1, 0, 99, 2**62, 0.5, float("inf"), "", "x", "{}", "[1", b"\xff", "\x00"))
            with contextlib.suppress(sqlite3.Error):
                connection.execute(f'UPDATE "{table}" SET "{pick(rng, columns)}" = ?', (cell,))
        connection.commit()


def targets():
    return {"models": models, "datasets": datasets, "campaigns": campaigns}
