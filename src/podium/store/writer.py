"""What can be written to the tables, in values. A `Writer` lives in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from operator import attrgetter
from typing import Any

from sqlalchemy import delete, func, select, update

from podium._version import __version__
from podium.store import codec
from podium.store.questions import Questions
from podium.store.statements import ADD_CALL, ADD_NEW_VOTE, ADD_VOTE, ANSWERED, END_CALL, as_driver_sql
from podium.store.tables import campaign as campaigns
from podium.store.tables import derived, events, item, item_text, judge, media, snapshot, vote
from podium.store.values import Call, Campaign, Event, Item, Judge, Media, Vote, changed

__all__ = ["Writer"]

VOTE_CELLS = attrgetter(*Vote.__slots__)


class Writer(Questions):
    """A transaction that writes: campaigns, items, judges, the logs, calls to models, snapshots."""

    def add_campaign(self, new: Campaign) -> Campaign:
        """Add a campaign; it is the one of this transaction from here on."""
        self.flush()
        values = asdict(new)
        del values["id"]
        key = self.connection.execute(campaigns.insert().values(**values)).inserted_primary_key
        assert key is not None
        self.state = (changed(new, id=int(key[0])), frozenset())
        self._memory = self.warm.of(self.locked.id)
        return self.locked

    def add_items(self, new: Sequence[Item]) -> None:
        """Add items; their codes follow those there are."""
        rows = [asdict(each) | {"campaign": self.locked.id} for each in new]
        if rows:
            self.aside.execute(item.insert(), rows)

    def change_item(self, code: int, **values: Any) -> None:
        """Change columns of an item."""
        self.connection.execute(
            update(item).where(item.c.campaign == self.locked.id, item.c.code == code).values(**values)
        )

    def add_media(self, new: Media) -> None:
        """Keep the bytes, once."""
        row = {"campaign": self.locked.id, "sha256": new.sha256, "type": new.type, "size": len(new.bytes)}
        if (
            self._first(select(media.c.size).where(media.c.campaign == self.locked.id, media.c.sha256 == new.sha256))
            is None
        ):
            self.aside.execute(media.insert().values(**row, bytes=new.bytes))

    def add_judge(self, new: Judge) -> Judge:
        """Add a judge under the next id."""
        highest = select(func.max(judge.c.id)).where(judge.c.campaign == self.locked.id)
        last = self.connection.execute(highest).scalar_one()
        added = changed(new, id=0 if last is None else last + 1)
        values = asdict(added) | {"campaign": self.locked.id, "conflicts": list(added.conflicts)}
        self.connection.execute(judge.insert().values(**values))
        return added

    def change_judge(self, id: int, **values: Any) -> None:
        """Change columns of a judge."""
        self._memory.judges.pop(id, None)
        self.aside.execute(update(judge).where(judge.c.campaign == self.locked.id, judge.c.id == id).values(**values))

    def append_votes(self, new: Sequence[Vote]) -> list[Vote]:
        """Append to the log; returns the rows with their numbers."""
        first = self.locked.last_vote + 1
        numbered = [changed(each, seq=first + k) for k, each in enumerate(new)]
        if numbered:
            self.change(last_vote=numbered[-1].seq)
            self._counted(numbered)
            self._do(ADD_VOTE, *(_vote_row(each, self.locked.id) for each in numbered))
        return numbered

    def append_new(self, new: Vote) -> Vote | None:
        """Append one vote, unless its judge has sent a row under this id before; as it was stored."""
        numbered = changed(new, seq=self.locked.last_vote + 1)
        if not self._do(ADD_NEW_VOTE, _vote_row(numbered, self.locked.id)):
            return None
        self.change(last_vote=numbered.seq)
        self._counted([numbered])
        return numbered

    def _counted(self, new: Sequence[Vote]) -> None:
        counts = self._memory.counts
        for each in new:
            if each.undoes is not None:
                counts.pop(each.judge, None)  # what is taken back may have been a skip
            elif each.outcome is not None and each.judge in counts:
                counts[each.judge] += 1

    def append_event(self, new: Event) -> Event:
        """Append to the log of everything else."""
        numbered = changed(new, seq=self.locked.last_event + 1)
        self.change(last_event=numbered.seq)
        self.aside.execute(events.insert().values(**asdict(numbered), campaign=self.locked.id))
        return numbered

    def empty_reasons(self, id: int) -> None:
        """Empty the free text beside a judge's votes: the one thing in the log that can be taken out."""
        mine = (vote.c.campaign == self.locked.id, vote.c.judge == id, vote.c.reason.is_not(None))
        self.connection.execute(update(vote).where(*mine).values(reason=None))

    # Calls to models

    def add_calls(self, new: Sequence[Call]) -> None:
        """Write calls that are about to go out."""
        if new:
            names = [each.name for each in fields(Call)]
            rows = [{name: getattr(each, name) for name in names} | {"campaign": self.locked.id} for each in new]
            self._many(ADD_CALL, rows)

    def end_calls(self, ended: Sequence[Call]) -> None:
        """Complete calls by what came back."""
        if ended:
            rows = [{f"new_{name}": getattr(each, name) for name in ANSWERED} for each in ended]
            for row, each in zip(rows, ended, strict=True):
                row |= {"c": self.locked.id, "r": each.request}
            self._many(END_CALL, rows)

    def _many(self, statement: Any, rows: list[dict[str, Any]]) -> None:
        sql, picked, _ = as_driver_sql(statement, self._connection.dialect)
        values: list[Any] = rows if picked is None else [picked(row) for row in rows]
        self.aside.exec_driver_sql(sql, values[0] if len(values) == 1 else values)

    def add_item_texts(self, name: str, texts: dict[int, str]) -> None:
        """Keep texts that go with items, by code."""
        rows = [{"campaign": self.locked.id, "item": code, "name": name, "body": body} for code, body in texts.items()]
        if rows:
            self.aside.execute(item_text.insert(), rows)

    # Snapshots

    def put_snapshot(self, last: int, data: bytes) -> None:
        """Keep the piece of the log that ends with row `last` as bytes."""
        row = {"campaign": self.locked.id, "seq": last, "format": codec.SNAPSHOT_FORMAT, "bytes": data}
        self.aside.execute(delete(snapshot).where(snapshot.c.campaign == self.locked.id, snapshot.c.seq == last))
        self.aside.execute(snapshot.insert().values(**row, checksum=codec.checksum(data, self.locked.id, last)))

    def put_derived(self, name: str, data: bytes, position: tuple[int, int]) -> None:
        """Keep what was computed from the logs up to `position`, in the place of what there was."""
        campaign = self.locked.id
        self.aside.execute(delete(derived).where(derived.c.campaign == campaign, derived.c.name == name))
        row = {"campaign": campaign, "name": name, "last_vote": position[0], "last_event": position[1]}
        row |= {"version": __version__, "bytes": data, "checksum": codec.seal(data, campaign, name)}
        self.aside.execute(derived.insert().values(**row))

    def drop_snapshots(self) -> None:
        """Throw them away, and what was derived from them."""
        self.aside.execute(delete(derived).where(derived.c.campaign == self.locked.id))
        self.aside.execute(delete(snapshot).where(snapshot.c.campaign == self.locked.id))


def _vote_row(each: Vote, campaign: int) -> dict[str, Any]:
    row: dict[str, Any] = dict(zip(Vote.__slots__, VOTE_CELLS(each), strict=True))
    row["campaign"] = campaign
    return row
