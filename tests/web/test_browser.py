"""The app in a real browser: keys, clicks, touch, reload, no network, narrow screens, and the organiser's day."""

import io
import json
import os
import re
import struct
import threading
import time
import zipfile
import zlib

import pytest
import uvicorn

from podium.campaign import setup
from podium.campaign.items import Items
from podium.errors import UnavailableError
from podium.store.values import Item, Question, Vote

from suites.browser import FLAGS, browser_path
from web.rooms import new_room

LONG = "\n\n".join(f"Paragraph {k}: " + "a long text goes on and on. " * 30 for k in range(12))
ITEMS = [
    Item(-1, "long", "text", LONG),
    Item(-1, "arabic", "text", "في صباح كل يوم يقف الناس عند زاوية الشارع"),
    Item(-1, "chinese", "text", "城市里的道路属于谁？" * 20),
    Item(-1, "table", "markdown", "| year | cars |\n|---|---|\n| 2017 | 120 |\n\n" + "word " * 50),
    Item(-1, "wide", "text", "x" * 4000),
    *[Item(-1, f"item {k}", "text", f"This is item {k}.") for k in range(4)],
    Item(-1, "Unbroken" * 12 + " and a name that goes on and on", "text", "This has a long name."),
]


@pytest.fixture(scope="module")
def chromium():
    """One browser for all; each test has a profile of its own."""
    path = browser_path()
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


class Served:
    """A campaign on a port, with browsers that note what goes wrong in them."""

    def __init__(self, room, port, browser):
        self.room, self.browser = room, browser
        self.url = f"http://127.0.0.1:{port}"
        self.problems = []

    def open(self, path, width=1280, height=860, **options):
        context = self.browser.new_context(viewport={"width": width, "height": height}, **options)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda problem: self.problems.append(str(problem)))
        page.on("console", lambda line: self.problems.append(line.text) if line.type == "error" else None)
        page.goto(self.url + path)
        return page

    def judge(self, **options):
        """A judge at the first pair."""
        page = self.open(f"/j#{self.room.judge_token}", **options)
        page.get_by_role("button", name="Start").click()
        page.locator("#judging").wait_for()
        return page

    def organiser(self, path="live", **options):
        page = self.open(f"/o#{self.room.organiser_token}", **options)
        page.wait_for_url("**/o/live")
        page.goto(f"{self.url}/o/{path}")
        return page

    def votes(self):
        return self.room.store.read(lambda reader: list(reader.votes(self.room.campaign)))

    def wait_for_votes(self, count):
        for _ in range(300):
            if len(self.votes()) >= count:
                break
            time.sleep(0.05)
        return self.votes()


@pytest.fixture
def served(store, chromium):
    room = new_room(store, ITEMS, target=30)
    server = uvicorn.Server(uvicorn.Config(room.app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    served = Served(room, server.servers[0].sockets[0].getsockname()[1], chromium)
    yield served
    for context in chromium.contexts:
        context.close()
    server.should_exit = True
    thread.join()
    assert not [each for each in served.problems if "Failed to load resource" not in each], served.problems


def shown(page):
    """Which two items are on the screen."""
    return page.locator("#left .text").inner_text(), page.locator("#right .text").inner_text()


def press(page, key, count):
    """Press a key on `count` pairs, each once it is there long enough."""
    for _ in range(count):
        before = shown(page)
        page.wait_for_timeout(350)
        page.keyboard.press(key)
        page.locator("#judging:visible, #message:visible").first.wait_for()
        for _ in range(100):
            if page.locator("#message").is_visible() or shown(page) != before:
                break
            page.wait_for_timeout(20)


def test_one_key_decides_and_a_held_key_votes_once(served):
    page = served.judge()
    page.wait_for_timeout(350)
    page.keyboard.down("ArrowLeft")
    for _ in range(5):
        page.keyboard.down("ArrowLeft")  # auto-repeat
    page.keyboard.up("ArrowLeft")
    assert [vote.outcome for vote in served.wait_for_votes(1)] == [1.0]
    press(page, "2", 1)
    press(page, "t", 1)
    assert [vote.outcome for vote in served.wait_for_votes(3)] == [1.0, 0.0, 0.5]
    assert page.locator("#count").inner_text() == "4"
    assert "Saved" in page.locator("#saved").inner_text()
    page.keyboard.press("Control+ArrowLeft")
    page.wait_for_timeout(400)
    page.keyboard.press("Alt+1")
    page.wait_for_timeout(300)
    assert len(served.votes()) == 3, "with a modifier keys are the browser's"


def test_a_pair_that_just_appeared_takes_no_key(served):
    page = served.judge()
    page.wait_for_timeout(350)
    key = "document.body.dispatchEvent(new KeyboardEvent('keydown', {code: 'ArrowLeft', bubbles: true}))"
    page.evaluate(f"{key}; {key}")  # at once, however busy the machine is
    served.wait_for_votes(1)
    page.wait_for_timeout(600)
    assert len(served.votes()) == 1


def test_click_undo_skip_report_and_keys(served):
    page = served.judge()
    first = shown(page)
    page.wait_for_timeout(350)
    page.get_by_role("button", name="Right is better").click()
    served.wait_for_votes(1)
    page.keyboard.press("u")
    served.wait_for_votes(2)
    assert shown(page) == first, "the undone pair is back"
    page.wait_for_timeout(350)
    page.keyboard.press("s")
    page.get_by_role("button", name="Unclear").click()
    votes = served.wait_for_votes(3)
    assert [(vote.outcome, vote.undoes, vote.reason) for vote in votes] == [
        (0.0, None, None),
        (None, 1, None),
        (None, None, "unclear"),
    ]
    page.wait_for_timeout(350)
    page.keyboard.press("f")
    page.locator("#report").get_by_role("button", name="Left").click()
    page.locator("#said", has_text="Reported").wait_for(state="attached")
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(300)
    assert len(served.votes()) == 3, "no vote behind a dialog"
    page.keyboard.press("Escape")


def test_a_reload_shows_the_same_pair_and_undo_still_works(served):
    page = served.judge()
    press(page, "ArrowLeft", 2)
    before = shown(page)
    served.wait_for_votes(2)
    page.reload()
    page.locator("#judging").wait_for()
    assert shown(page) == before
    page.keyboard.press("Control+z")
    assert len(served.wait_for_votes(3)) == 3
    assert served.votes()[2].undoes == 2
    assert "#" not in page.url, "the secret is gone from the address"


def test_a_change_of_options_reaches_an_open_page_with_the_next_vote(served):
    page = served.judge()
    assert page.locator("#tie").is_visible()
    assert page.locator("#count").inner_text() == "1", "the first of about 30"
    served.room.organiser.patch(served.room.at, json={"options": {"ties": False, "target": None}})
    press(page, "ArrowLeft", 1)
    page.locator("#tie").wait_for(state="hidden")
    assert page.locator("#count").inner_text() == "1", "one so far"
    left, right = (page.locator(f"[data-act={side}]").bounding_box()["width"] for side in ("left", "right"))
    assert abs(left - right) < 2, "both sides are as wide"


def test_votes_without_a_network_arrive_once_after_the_page_was_closed(served):
    page = served.judge()
    press(page, "ArrowLeft", 1)
    served.wait_for_votes(1)
    page.wait_for_timeout(300)
    page.context.set_offline(True)
    press(page, "ArrowRight", 2)
    page.locator("#saved.kept, #message").first.wait_for(state="attached")
    assert len(served.votes()) == 1
    assert "Kept here: 2" in page.content()
    context = page.context
    page.close()
    context.set_offline(False)
    again = context.new_page()
    again.goto(f"{served.url}/j")
    assert [vote.outcome for vote in served.wait_for_votes(3)] == [1.0, 0.0, 0.0]
    again.wait_for_timeout(500)
    assert len(served.votes()) == 3
    assert len({vote.client_id for vote in served.votes()}) == 3


def test_votes_and_undoing_without_a_network_all_go_out_when_it_is_back(served):
    page = served.judge()
    press(page, "ArrowLeft", 1)
    served.wait_for_votes(1)
    page.wait_for_timeout(300)
    page.context.set_offline(True)
    press(page, "ArrowRight", 1)
    page.keyboard.press("u")
    page.wait_for_timeout(400)
    page.keyboard.press("ArrowLeft")
    page.locator("#saved.kept, #message:visible").first.wait_for(state="attached")
    page.wait_for_timeout(1500)  # it has tried again in vain
    page.context.set_offline(False)
    votes = served.wait_for_votes(4)
    assert [(vote.outcome, vote.undoes) for vote in votes] == [(1.0, None), (0.0, None), (None, 2), (1.0, None)]
    assert votes[3].question == votes[1].question


def test_an_entry_that_is_never_taken_does_not_hold_up_the_others(served):
    page = served.judge()
    question = page.evaluate("fetch('/api/v1/next').then((answer) => answer.json())")
    ids = [each["id"] for each in question["questions"]]
    page.evaluate(
        """([who, ids]) => localStorage.setItem(`podium-outbox-${who}`, JSON.stringify([
          { vote: { id: "bad id", question: ids[0], outcome: 1 } }, { vote: { id: "good", question: ids[0], outcome: 0 } },
          { vote: { id: "fine", question: ids[1], outcome: 1 } }]))""",
        [question["who"], ids],
    )
    page.reload()
    assert [(vote.client_id, vote.outcome) for vote in served.wait_for_votes(2)] == [("good", 0.0), ("fine", 1.0)]
    kept = page.evaluate("(who) => localStorage.getItem(`podium-refused-${who}`)", question["who"])
    assert '"bad id"' in kept


def test_two_hundred_votes_wait_and_no_more_is_taken(served):
    page = served.judge()
    who = page.evaluate("fetch('/api/v1/next').then((answer) => answer.json())")["who"]
    page.route("**/api/v1/votes", lambda route: route.abort())
    waiting = [{"vote": {"id": f"w{k}", "question": 100_000 + k, "outcome": 1}} for k in range(200)]
    page.evaluate("([who, rows]) => localStorage.setItem(`podium-outbox-${who}`, JSON.stringify(rows))", [who, waiting])
    page.reload()
    page.locator("#judging").wait_for()
    page.get_by_text("Kept here: 200 not sent yet").wait_for()
    page.wait_for_timeout(350)
    page.keyboard.press("ArrowLeft")
    page.get_by_role("heading", name="200 votes wait to be sent").wait_for()
    assert page.evaluate("(who) => JSON.parse(localStorage.getItem(`podium-outbox-${who}`)).length", who) == 200


def test_votes_are_kept_while_the_disk_is_full_and_arrive_when_it_is_not(served, monkeypatch):
    page = served.judge()

    def full(jobs):
        raise UnavailableError("campaign.db: the disk is full; free some space, then everything goes on")

    with monkeypatch.context() as change:
        change.setattr(served.room.store, "send", full)
        press(page, "ArrowLeft", 2)
        page.locator("#saved.kept").wait_for()
        assert "not sent yet" in page.locator("#saved").inner_text()
        assert served.votes() == []
    assert [vote.outcome for vote in served.wait_for_votes(2)] == [1.0, 1.0]
    page.locator("#saved:not(.kept)").wait_for()


def test_an_earlier_vote_is_changed_in_the_history(served):
    page = served.judge()
    press(page, "ArrowLeft", 2)
    served.wait_for_votes(2)
    page.get_by_role("link", name="History").click()
    page.locator(".past > li").first.wait_for()
    assert page.locator(".past > li").count() == 2
    page.locator(".past > li").nth(1).get_by_text("Change", exact=True).click()
    page.locator(".past > li").nth(1).get_by_role("button", name="Right is better").click()
    votes = served.wait_for_votes(4)
    assert [(vote.outcome, vote.undoes) for vote in votes] == [(1.0, None), (1.0, None), (None, 1), (0.0, None)]


def test_a_change_in_the_history_without_a_network_waits_and_skips_have_no_number(served):
    page = served.judge()
    press(page, "ArrowLeft", 1)
    page.wait_for_timeout(350)
    page.keyboard.press("s")
    page.get_by_role("button", name="Just skip").click()
    served.wait_for_votes(2)
    press(page, "ArrowLeft", 1)
    served.wait_for_votes(3)
    page.get_by_role("link", name="History").click()
    rows = page.locator(".past > li")
    rows.first.wait_for()
    assert [each.inner_text() for each in page.locator(".past .when b").all()] == ["2", "–", "1"]
    page.context.set_offline(True)
    rows.first.get_by_text("Change", exact=True).click()
    rows.first.get_by_role("button", name="Right is better").click()
    page.get_by_text("Kept here: 2 not sent yet").wait_for()
    assert len(served.votes()) == 3
    page.context.set_offline(False)
    assert [(vote.outcome, vote.undoes) for vote in served.wait_for_votes(5)[3:]] == [(None, 3), (0.0, None)]
    page.locator(".past .one.won", has_text="Right").wait_for()


def test_a_judge_who_has_made_none_is_not_told_that_all_of_them_are_saved(served):
    room, now = served.room, served.room.store.now()

    def the_only_pair_is_away(writer):
        [(other, _)] = setup.invite(writer, ["Bob"], now)
        setup.set_conflicts(writer, room.judge_id, range(2, len(ITEMS)), now)
        writer.add_questions([Question(0, 1)])
        writer.give(writer.questions(room.campaign, "open")[0], other.id, now, now + 600_000)

    room.store.write(room.campaign, the_only_pair_is_away)
    page = served.open(f"/j#{room.judge_token}", width=390, height=844)
    page.get_by_text("No pair is free for you right now").wait_for()
    assert not page.get_by_text("You have made").count()
    assert not page.get_by_role("button", name="Undo").count()


def test_a_judge_whose_last_pair_is_with_another_is_told_to_come_back_and_may_undo_on_a_phone(served):
    room, now = served.room, served.room.store.now()

    def three_pairs_one_of_them_away(writer):
        [(other, _)] = setup.invite(writer, ["Bob"], now)
        setup.set_conflicts(writer, room.judge_id, range(3, len(ITEMS)), now)
        writer.add_questions([Question(0, 1)])
        writer.give(writer.questions(room.campaign, "open")[0], other.id, now, now + 600_000)

    room.store.write(room.campaign, three_pairs_one_of_them_away)
    page = served.judge(width=390, height=844)
    press(page, "ArrowLeft", 2)
    page.get_by_text("No pair is free for you right now").wait_for()
    assert not page.get_by_text("There is no pair left").count()
    page.get_by_role("button", name="Look again").click()
    page.get_by_text("You have made 2 comparisons").wait_for()
    page.get_by_role("link", name="History").wait_for()
    page.get_by_role("button", name="Undo").click()
    page.locator("#judging").wait_for()
    assert [(vote.outcome, vote.undoes) for vote in served.wait_for_votes(3)] == [(1.0, None), (1.0, None), (None, 2)]
    press(page, "ArrowRight", 1)
    room.store.write(room.campaign, lambda writer: writer.release_hand(1 - room.judge_id))
    page.get_by_role("button", name="Look again").click()
    page.locator("#judging").wait_for()
    press(page, "ArrowLeft", 1)
    page.get_by_text("There is no pair left for you").wait_for()


@pytest.mark.parametrize(("width", "names"), [(390, ("First", "Second")), (1280, ("Left", "Right"))])
def test_items_have_one_name_everywhere_on_a_screen(served, width, names):
    """On a phone one is above the other: nothing says left or right there."""
    page = served.judge(width=width, height=844)
    first, second = names
    assert [page.locator(f"#{side} .side").inner_text().split()[0] for side in ("left", "right")] == [*names]
    page.get_by_role("button", name="Keys").click()
    assert f"{first} is better" in page.locator("#keys").inner_text()
    assert f"{second} is better" in page.locator("#keys").inner_text()
    page.keyboard.press("Escape")
    page.wait_for_timeout(1000)  # nothing is taken of a pair that was hardly seen
    page.get_by_role("button", name="Report").click()
    page.locator("#report[open]").wait_for()
    assert page.locator("#report").inner_text().split("\n")[1:] == [first, second, "Cancel"]
    page.keyboard.press("Escape")
    page.locator("#report").wait_for(state="hidden")
    page.locator("[data-act=right]").click()
    page.locator("#said", has_text=f"{second} chosen").wait_for(state="attached")


def test_new_instructions_are_read_before_the_next_pair_and_votes_carry_what_was_read(served):
    served.room.organiser.patch(served.room.at, json={"instructions": "Judge the **argument**."})
    page = served.judge()
    page.locator("#hint", has_text="Judge the argument.").wait_for()
    served.room.organiser.patch(served.room.at, json={"instructions": "Judge the style.", "options": {"ties": False}})
    assert page.locator("#tie").is_visible()
    press(page, "ArrowLeft", 1)
    page.get_by_text("The instructions have changed").wait_for()
    page.keyboard.press("Enter")
    page.locator("#hint", has_text="Judge the style.").wait_for()
    assert not page.locator("#tie").is_visible(), "no ties are taken any more"
    press(page, "ArrowLeft", 1)
    assert [vote.version for vote in served.wait_for_votes(2)] == [2, 3]
    page.reload()
    page.locator("#judging").wait_for()


def test_an_open_link_that_is_used_up_says_so(served):
    token = served.room.organiser.post(f"{served.room.at}/open-link", json={"most": 1}).json()["link"].partition("#")[2]
    served.open(f"/j#{token}").get_by_role("button", name="Start").wait_for()
    late = served.open(f"/j#{token}")
    late.get_by_role("heading", name="Everybody has come").wait_for()
    late.get_by_text("As many judges as were wanted have come by this link").wait_for()
    assert not late.locator("#judging").is_visible()


def test_items_never_shown_to_a_judge_are_named_on_the_people_page(served):
    page = served.organiser("people")
    page.get_by_text("Change", exact=True).click()
    page.get_by_role("button", name="Items never shown").click()
    page.locator("#never").fill("long\nno such item")
    page.locator("#conflicts").get_by_role("button", name="Save").click()
    page.get_by_text("There is no item “no such item”").wait_for()
    page.locator("#never").fill("long\nchinese")
    with page.expect_navigation():
        page.locator("#conflicts").get_by_role("button", name="Save").click()
    page.get_by_text("2 items never shown").wait_for()
    judge = served.room.store.read(lambda reader: reader.judge(served.room.campaign, served.room.judge_id))
    assert [ITEMS[code].label for code in judge.conflicts] == ["long", "chinese"]


def test_touch_on_a_phone_and_a_swipe_side_by_side(served):
    page = served.judge(width=360, height=740, has_touch=True, is_mobile=True)
    page.wait_for_timeout(350)
    page.get_by_role("button", name=re.compile("First")).tap()
    assert [vote.outcome for vote in served.wait_for_votes(1)] == [1.0]
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.get_by_role("button", name=re.compile("Second")).bounding_box()["height"] >= 40
    wide = served.open("/j", width=900, height=700, has_touch=True, storage_state=page.context.storage_state())
    wide.locator("#judging").wait_for()
    wide.wait_for_timeout(350)
    swipe = """([from, to]) => {
      const pair = document.querySelector("#pair");
      const touch = (x) => new Touch({ identifier: 1, target: pair, clientX: x, clientY: 300 });
      pair.dispatchEvent(new TouchEvent("touchstart", { touches: [touch(from)], changedTouches: [touch(from)] }));
      pair.dispatchEvent(new TouchEvent("touchend", { touches: [], changedTouches: [touch(to)] }));
    }"""
    table = """([from, to]) => {
      const inside = document.querySelector("#left .text").appendChild(document.createElement("pre"));
      inside.textContent = "wide ".repeat(200);
      const touch = (x) => new Touch({ identifier: 1, target: inside, clientX: x, clientY: 300 });
      for (const kind of ["touchstart", "touchend"]) {
        const at = touch(kind === "touchstart" ? from : to);
        inside.dispatchEvent(new TouchEvent(kind, { touches: kind === "touchstart" ? [at] : [], changedTouches: [at], bubbles: true }));
      }
    }"""
    wide.evaluate(table, [300, 500])
    wide.evaluate(swipe, [300, 340])
    wide.evaluate(swipe, [300, 500])
    assert [vote.outcome for vote in served.wait_for_votes(2)] == [1.0, 0.0], (
        "a short move is no swipe, nor is one that moves a wide line"
    )


def test_the_end_a_closed_campaign_and_a_wrong_link_each_say_so(served):
    served.room.store.write(
        served.room.campaign, lambda writer: writer.change(options=writer.locked.options | {"target": 2})
    )
    page = served.judge()
    press(page, "ArrowLeft", 2)
    page.get_by_role("heading", name="Thank you").wait_for()
    assert not page.locator("#judging").is_visible(), "words stand instead of a pair, not below it"
    page.get_by_role("button", name="A few more").click()
    assert page.locator("#judging").is_visible()
    assert not page.locator("#message").is_visible()
    served.room.organiser.patch(served.room.at, json={"state": "closed"})
    page.reload()
    page.get_by_role("heading", name="The campaign is closed").wait_for()
    served.open("/j#nonsense").get_by_role("heading", name="This link is not known").wait_for()
    served.open("/j").get_by_role("heading", name="Open your link").wait_for()


def test_a_wrong_link_of_an_organiser_says_where_the_right_one_is(served):
    for path, title, where in (
        ("/o#zzz", "This link is not known", "printed by podium campaign new"),
        ("/new#bad", "This link is not known", "printed when podium serve starts"),
        ("/o", "Open your link", "The part after # is missing here. The organiser’s link was printed"),
    ):
        page = served.open(path)
        page.get_by_role("heading", name=title).wait_for()
        assert where in page.locator("#words").inner_text()
        assert page.title() == f"{title} · Podium"


def test_a_page_left_open_goes_on_after_a_pause(served):
    page = served.judge()
    served.room.organiser.patch(served.room.at, json={"state": "paused"})
    paused = page.get_by_role("heading", name="The campaign is paused")
    for _ in range(40):  # the pairs that were out already are still taken
        if page.locator("#message").is_visible():
            break
        press(page, "ArrowLeft", 1)
    paused.wait_for()
    before = served.room.organiser.get(f"{served.room.at}/summary").json()["votes"]
    page.get_by_role("button", name="Look again").click()
    paused.wait_for()
    served.room.organiser.patch(served.room.at, json={"state": "open"})
    page.get_by_role("button", name="Look again").click()
    page.locator("#judging:visible").wait_for()
    press(page, "ArrowLeft", 1)
    for _ in range(100):
        if served.room.organiser.get(f"{served.room.at}/summary").json()["votes"] > before:
            break
        page.wait_for_timeout(20)
    assert served.room.organiser.get(f"{served.room.at}/summary").json()["votes"] == before + 1
    served.room.organiser.patch(served.room.at, json={"state": "closed"})
    page.reload()
    page.get_by_role("heading", name="The campaign is closed").wait_for()
    assert not page.get_by_role("button", name="Look again").count()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_no_page_scrolls_sideways_and_every_control_has_a_name(served, width, scheme):
    judge = served.judge(width=width, height=740, color_scheme=scheme)
    for _ in range(6):
        press(judge, "ArrowLeft", 1)
        assert judge.evaluate("document.documentElement.scrollWidth") <= width
        left, right = (judge.locator(f"#{side}").bounding_box() for side in ("left", "right"))
        assert left["height"] == pytest.approx(right["height"], abs=1)
    page = served.organiser(width=width, height=740, color_scheme=scheme)
    for path in ("live", "setup", "people", "judges", f"judges/{served.room.judge_id}", "export", "items/0", "try"):
        page.goto(f"{served.url}/o/{path}")
        page.locator("h1").first.wait_for(state="attached")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate(UNNAMED) == [], path
        assert page.evaluate(PALE) == [], path
        assert page.evaluate(CUT) == [], path


# Controls without a name, fields without a label, pictures without words.
UNNAMED = """() => [...document.querySelectorAll("button, a, input:not([type=hidden]), textarea, select, img, svg[role=img], table")]
  .filter((each) => each.offsetParent !== null || each.tagName === "svg")
  .filter((each) => {
    if (each.matches("input, textarea, select")) return !each.labels?.length && !each.getAttribute("aria-label");
    if (each.matches("img")) return !each.hasAttribute("alt");
    if (each.matches("svg")) return !each.querySelector("title");
    if (each.matches("table")) return !each.querySelector("th");
    return !(each.textContent.trim() || each.getAttribute("aria-label"));
  }).map((each) => each.outerHTML.slice(0, 120))"""

# Cells of tables that end outside their card, where nobody can scroll to them.
CUT = """() => [...document.querySelectorAll(".card > table td, .card > table th")]
  .filter((each) => each.offsetParent !== null && each.getBoundingClientRect().right > each.closest(".card").getBoundingClientRect().right + 1)
  .map((each) => each.outerHTML.slice(0, 120))"""

# Text with less contrast than 4.5 : 1 against the nearest ground that is painted.
PALE = """() => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => { pen.clearRect(0, 0, 1, 1); pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1); return pen.getImageData(0, 0, 1, 1).data; };
  const light = ([r, g, b]) => { const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4); return 0.2126 * x + 0.7152 * y + 0.0722 * z; };
  const ground = (each) => { for (let at = each; at; at = at.parentElement) { const c = rgba(getComputedStyle(at).backgroundColor); if (c[3] > 250) return c; } return [255, 255, 255]; };
  return [...document.querySelectorAll("main *")].filter((each) => each.offsetParent && !each.closest("svg, [disabled], .gone") &&
      [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()))
    .map((each) => { const a = light(rgba(getComputedStyle(each).color)), b = light(ground(each)); return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), each.outerHTML.slice(0, 90)]; })
    .filter(([ratio]) => ratio < 4.5);
}"""


def test_the_organisers_day_from_upload_to_export(served, tmp_path):
    from web.rooms import OPERATOR

    table = tmp_path / "drinks.csv"
    page = served.open(f"/new#{OPERATOR}")
    page.wait_for_url("**/new/campaign")
    table.write_text("id,text\ntea,A cup of tea\n,No name\n")
    page.locator("#file").set_input_files(table)
    page.locator("#problems", has_text="row 2: the label is empty").wait_for()
    table.write_text("Name,Essay\nZoe,A cup of tea\nTom,A glass of milk\n")
    page.locator("#file").set_input_files([])
    page.locator("#file").set_input_files(table)
    page.locator("#file-about", has_text="2 items; judges see the labels alone").wait_for()
    table.write_text("id,text\ntea,A cup of tea\nmilk,A glass of milk\nwater,A glass of water\n")
    page.locator("#file").set_input_files([])
    page.locator("#file").set_input_files(table)
    page.locator("#file-about", has_text=re.compile("^3 items$")).wait_for()
    assert page.locator("#preview tbody tr").count() == 3
    page.get_by_label("Title").fill("Drinks")
    page.get_by_label("What judges are asked").fill("Which do you prefer?")
    page.get_by_role("button", name="Make the draft").click()
    page.locator("#links input").wait_for()
    page.get_by_role("button", name="I have copied it").click()
    page.wait_for_url("**/o/setup")
    page.get_by_label("Comparisons a judge").fill("3")
    with page.expect_navigation():  # what was saved is shown anew
        page.locator("form", has_text="How much to ask").get_by_role("button", name="Save").click()
    page.goto(f"{served.url}/o/people")
    page.get_by_label("Names, one a line").fill("Ann\nBob")
    page.get_by_role("button", name="Make their links").click()
    page.locator("#links input").first.wait_for()
    links = [each.input_value() for each in page.locator("#links input").all()]
    assert len(links) == 2
    with page.expect_navigation():
        page.get_by_role("button", name="I have copied them").click()
    page.goto(f"{served.url}/o/setup")
    page.get_by_role("button", name="Open the campaign").click()
    page.locator(".chip", has_text="Open").first.wait_for()
    for link in links:
        judge = served.open(f"/j#{link.partition('#')[2]}")
        judge.get_by_role("button", name="Start").click()
        for _ in range(3):
            judge.wait_for_timeout(350)
            left, right = shown(judge)
            judge.keyboard.press("ArrowLeft" if "tea" in left or "water" in right else "ArrowRight")
        judge.get_by_role("heading", name="Thank you").wait_for()
    page.goto(f"{served.url}/o/live")
    page.locator("tbody tr:has(td.place)").first.wait_for()
    names = [each.inner_text() for each in page.locator("tbody tr:has(td.place) th").all()]
    assert names == ["tea", "milk", "water"]
    page.goto(f"{served.url}/o/export")
    with page.expect_download() as saved:
        page.get_by_role("link", name="CSV").first.click()
    assert saved.value.suggested_filename == "drinks-ranking.csv"


def test_added_items_without_a_text_are_told(served, tmp_path):
    said = []
    page = served.organiser("setup")
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.accept()))
    (tmp_path / "bare.csv").write_text("id\n" + "".join(f"late {k}\n" for k in range(6)))
    with page.expect_navigation():
        page.locator("#file").set_input_files(tmp_path / "bare.csv")
    page.get_by_role("link", name="late 5").wait_for()
    assert len(said) == 1
    assert "labels alone" in said[0]
    assert "late 0, late 1, late 2, late 3 and 2 more" in said[0]


def test_what_was_taken_in_is_told(served, tmp_path):
    page = served.organiser("export")
    one, other = [each["label"] for each in served.room.organiser.get(f"{served.room.at}/items").json()][:2]
    path = tmp_path / "ann.jsonl"
    pair = {"left": one, "right": other, "judge": "Kim"}
    path.write_text("\n".join(map(json.dumps, [{"podium": "ask"}, pair | {"outcome": 1}, {"podium": "skip"} | pair])))
    page.locator("#votes-file").set_input_files(path)
    page.locator("#taken", has_text=re.compile("^1 vote, 1 skip added$")).wait_for()
    assert len(served.votes()) == 2
    page.locator("#votes-file").set_input_files(path)
    page.locator("#taken", has_text=re.compile("^0 votes added, 2 of the file there already$")).wait_for()
    assert len(served.votes()) == 2


def test_the_live_page_takes_new_votes_in_by_itself(served):
    page = served.organiser()
    page.get_by_text("Waiting for the first votes").wait_for()
    judge = served.judge()
    press(judge, "ArrowLeft", 2)
    served.wait_for_votes(2)
    page.locator("tbody tr:has(td.place)").first.wait_for()
    assert page.locator("tbody tr:has(td.place)").count() == len(ITEMS)


def test_consent_comes_before_the_first_pair(served):
    served.room.organiser.patch(served.room.at, json={"options": {"texts": {"consent": "I **agree** to take part."}}})
    page = served.open(f"/j#{served.room.judge_token}")
    start = page.get_by_role("button", name="Start")
    start.wait_for()
    assert start.is_disabled()
    page.get_by_label("I have read this and agree").check()
    start.click()
    page.locator("#judging").wait_for()


def test_trying_it_as_a_judge_stores_nothing(served):
    page = served.organiser("try")
    page.get_by_role("button", name="Start").click()
    press(page, "ArrowLeft", 3)
    page.get_by_role("heading", name="Thank you").wait_for()
    assert served.votes() == []


def png(width, height):
    """A grey picture, by the book."""
    rows = (b"\0" + b"\x80" * width) * height
    parts = [
        (b"IHDR", struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    ]
    chunks = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.mark.parametrize("width", [1280, 360])
def test_pictures_of_any_shape_are_seen_whole_and_in_full_by_a_click(served, width):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, size in (("wide", (1600, 200)), ("tall", (200, 1600))):
            archive.writestr(f"{name}.png", png(*size))
    room, files = served.room, {"file": ("pictures.zip", packed.getvalue(), "application/zip")}
    made = room.operator.post("/api/v1/campaigns", files=files, data={"title": "P", "question": "Which?"}).json()
    organiser, at = room.visitor(made["token"]), f"/api/v1/campaigns/{made['campaign']}"
    [ann] = organiser.post(f"{at}/judges", json={"names": ["Ann"]}).json()
    organiser.patch(at, json={"state": "open"})
    page = served.open(f"/j#{ann['link'].partition('#')[2]}", width=width, height=740)
    page.get_by_role("button", name="Start").click()
    for side in ("left", "right"):
        picture = page.locator(f"#{side} img")
        picture.wait_for()
        page.wait_for_timeout(300)  # it is loaded
        seen, card = picture.bounding_box(), page.locator(f"#{side}").bounding_box()
        assert seen["height"] > 0
        for at_least, more, size in (("x", "width", card["width"]), ("y", "height", card["height"])):
            assert card[at_least] <= seen[at_least]
            assert seen[at_least] + seen[more] <= card[at_least] + size + 1
    page.locator("#left img").click()
    assert page.locator("#zoom").is_visible()
    assert page.locator("#zoom img").evaluate("(each) => Math.max(each.width, each.height)") == 1600
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Escape")
    assert not page.locator("#zoom").is_visible()
    page.wait_for_timeout(400)
    page.keyboard.press("ArrowRight")
    page.get_by_role("heading", name="Thank you").wait_for()
    page.goto(f"{served.url}/j/history")
    assert page.locator(".past img").count() == 2


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_marks_asked_for_on_the_set_up_page_are_on_the_live_page(served, width, scheme):
    judge = served.room.judge
    for number in range(20):
        question = judge.get("/api/v1/next?k=1").json()["questions"][0]
        sent = {"id": f"m{number}", "question": question["id"], "outcome": float(number % 3 > 0), "ms": 900}
        assert judge.post("/api/v1/votes", json={"votes": [sent]}).status_code == 200
    page = served.organiser("setup", width=width, height=740, color_scheme=scheme)
    page.get_by_label("Marks, from lowest to best").fill("0:100")
    page.get_by_label("Grades", exact=True).fill("A=70, B=x")
    save = page.locator("form", has=page.get_by_label("Grades", exact=True)).get_by_role("button", name="Save")
    save.click()
    page.get_by_text("the boundary of grade 'B' is 'x'").first.wait_for()
    page.get_by_label("Grades", exact=True).fill("A=70, B=40")
    with page.expect_navigation():  # what was saved is shown anew
        save.click()
    assert served.room.organiser.get(served.room.at).json()["options"]["marks"] is not None
    page.goto(f"{served.url}/o/live")
    ranking = served.room.organiser.get(f"{served.room.at}/ranking").json()
    rows = page.locator(".order tbody tr:has(td.mark)")
    assert rows.count() == len(ranking) == len(ITEMS)
    for row, told in zip(rows.all(), ranking, strict=True):
        assert row.locator("td.mark b").inner_text() == f"{told['mark']:z.1f}"
        assert row.locator("td.grade b").inner_text() == told["grade"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CUT) == []
    assert page.evaluate(UNNAMED) == []
    assert page.evaluate(PALE) == []
    if folder := os.environ.get("PODIUM_PICTURES"):
        page.screenshot(path=f"{folder}/live-{width}-{scheme}.png", full_page=True)
    page.goto(f"{served.url}/o/setup")
    assert page.get_by_label("Grades", exact=True).input_value() == "A=70, B=40"


def test_names_with_commas_and_quotation_marks_stay_what_they_are_in_the_settings(served):
    names = ["O'Neil, Seán", 'the "best", of all', '"', " Lee ", "a,b", "plain"]
    served.room.store.write(
        served.room.campaign,
        lambda writer: setup.add_items(writer, Items([Item(-1, name, "text", "x") for name in names]), 1) and None,
    )
    gold = [[names[0], names[1], 1], [names[2], names[3], 0], [names[4], names[5], 1]]
    known = dict(zip(names, range(6), strict=True))
    organiser, at = served.room.organiser, served.room.at
    changed = organiser.patch(at, json={"options": {"gold": gold, "marks": {"known": known}}})
    assert changed.status_code == 200
    page = served.organiser("setup")
    with page.expect_navigation():
        page.locator("form", has_text="How much to ask").get_by_role("button", name="Save").click()
    kept = organiser.get(at).json()["options"]
    assert kept["gold"] == [gold[0], [names[3], names[2], 1], gold[2]], "a pair is shown the better first"
    assert kept["marks"]["known"] == known
    page.get_by_label("Gold pairs").fill('plain, "a,b"\nplain ,O\'Neil')
    page.locator("form", has_text="How much to ask").get_by_role("button", name="Save").click()
    page.locator("#problems", has_text='gold, row 2: there is no item "O\'Neil"').wait_for()


def test_settings_keep_every_digit_when_they_are_saved(served):
    organiser, at = served.room.organiser, served.room.at
    labels = [each["label"] for each in organiser.get(f"{at}/items").json()]
    marks = {
        "scale": [-1234567.5, 12345678],
        "known": dict(zip(labels, [1234567, 0.1 + 0.2, 1e-7], strict=False)),
        "boundaries": {"A": 7654321.25, "B": 1 / 3},
    }
    given = {"marks": marks, "check_share": 0.1234567, "lease_minutes": 1234.5678}
    assert organiser.patch(at, json={"options": given}).status_code == 200
    page = served.organiser("setup")
    with page.expect_navigation():
        page.locator("form", has_text="How much to ask").get_by_role("button", name="Save").click()
    kept = organiser.get(at).json()["options"]
    assert {name: kept[name] for name in given} == given


def test_the_report_of_marks_and_grades_fits_a_phone(served):
    room = served.room
    wish = {"scale": [0, 15], "boundaries": {"A": 12, "B": 8, "C": 4}}
    assert room.organiser.patch(room.at, json={"options": {"marks": wish}}).status_code == 200
    pairs = [(a, b) for a in range(9) for b in range(a + 1, 9)]
    votes = [Vote(room.judge_id, str(k), a, b, float(k % 5 > 0), kind="check") for k, (a, b) in enumerate(pairs)]
    room.store.write(room.campaign, lambda writer: writer.append_votes(votes))
    page = served.browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    page.set_content(room.organiser.get(f"{room.at}/export/report").text)
    table = page.locator("table", has_text="From … to").first
    table.locator("td", has_text="15.00").first.wait_for()
    assert table.evaluate("table => table.scrollWidth <= table.parentElement.clientWidth")


def test_escape_skips_and_reports_nothing(served):
    page = served.judge()
    first = shown(page)
    for key, dialog in (("s", "#skip"), ("f", "#report")):
        page.wait_for_timeout(350)
        page.keyboard.press(key)
        page.locator(dialog).wait_for()
        page.keyboard.press("Escape")
        page.locator(dialog).wait_for(state="hidden")
    press(page, "ArrowLeft", 1)
    assert [vote.outcome for vote in served.wait_for_votes(1)] == [1.0], "the pair was still there"
    assert shown(page) != first
    assert page.locator("#said").inner_text() == "Left chosen"
    page.wait_for_timeout(350)
    page.keyboard.press("s")
    page.get_by_role("button", name="Just skip").click()
    assert [(vote.outcome, vote.reason) for vote in served.wait_for_votes(2)] == [(1.0, None), (None, None)]


def test_the_completion_code_is_there_at_the_end_and_after_a_reload(served):
    at = served.room.at
    code = {"completion": {"code": "C0DE", "url": "https://study.example.org/done"}}
    assert served.room.organiser.patch(at, json={"options": {"target": 2, "texts": code}}).status_code == 200
    page = served.judge()
    press(page, "ArrowLeft", 2)
    for _ in range(2):
        page.get_by_role("heading", name="Thank you").wait_for()
        page.get_by_text("C0DE").wait_for()
        assert page.get_by_role("link", name="Return").get_attribute("href") == "https://study.example.org/done"
        page.reload()
    page.get_by_role("button", name="A few more").click()
    press(page, "ArrowLeft", 1)
    assert page.locator("#judging").is_visible(), "who goes on is not stopped again"
    assert len(served.wait_for_votes(3)) == 3
