"""Every promise of docs/studio.md's list, attacked."""

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from studios import Visitor, running

from unveil.errors import UsageError
from unveil.studio import prepared
from unveil.studio.gate import SECONDS, TRIES, user_of
from unveil.studio.pages import data as data_page

PATHS = ("/", "/data", "/roles", "/roles/0", "/release", "/audit", "/choose", "/jobs", "/static/studio.js", "/who")


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    folder = tmp_path_factory.mktemp("studio")
    (folder / "people.csv").write_text("age,ill\n30,flu\n40,none\n")
    (folder.parent / "outside.csv").write_text("age,ill\n1,secret\n")
    (folder / "link.csv").symlink_to(folder.parent / "outside.csv")
    with running(folder, largest=2**20) as visitor:
        yield visitor.admitted()


def stranger(studio: Visitor) -> Visitor:
    return Visitor(studio.made)


def test_nothing_is_shown_or_done_without_the_cookie(studio: Visitor) -> None:
    other = stranger(studio)
    for path in PATHS:
        assert other.get(path).status == 403, path
    for path in ("/data", "/draft", "/roles", "/anonymize", "/audit", "/frontier", "/decide", "/jobs/1/stop"):
        assert other.post(path, file="people.csv").status == 403, path
    assert other.ask("PUT", "/upload?as=data&name=a.csv", b"a\n1\n").status == 403
    assert not (studio.folder / "a.csv").exists()
    assert not (studio.folder / "unveil.toml").exists()


def test_the_token_works_once_and_the_cookie_is_strict(tmp_path: Path) -> None:
    with running(tmp_path) as visitor:
        address = visitor.made.gate.address.partition("/?")[2]
        first = visitor.get(f"/?{address}")
        assert first.status == 303
        cookie = first.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert address.partition("=")[2].lower() not in cookie  # the token itself is of no more use
        assert visitor.get(f"/?{address}").status == 403  # an old token
        assert Visitor(visitor.made, first.headers["set-cookie"].split(";")[0]).get("/data").status == 200
        assert visitor.get("/data", Cookie=f"{visitor.made.gate.cookie}={address.partition('=')[2]}").status == 403


def test_tokens_cannot_be_guessed_in_any_number(tmp_path: Path) -> None:
    now = [0.0]
    with running(tmp_path) as visitor:
        visitor.made.gate.clock = lambda: now[0]
        answers = [visitor.get(f"/?token=wrong{i}").status for i in range(TRIES + 3)]
        assert answers == [403] * TRIES + [429] * 3
        assert visitor.get(f"/?token={visitor.made.gate.token}").status == 429  # nor may the right one be tried now
        now[0] += SECONDS + 1
        assert visitor.get(f"/?token={visitor.made.gate.token}").status == 303


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "[::1]:{port}"]
)
def test_a_foreign_host_is_refused_even_with_the_cookie(studio: Visitor, host: str) -> None:
    port = studio.host.rpartition(":")[2]
    answer = studio.get("/data", Host=host.format(port=port))
    assert answer.status in (400, 421)
    assert "people.csv" not in answer.text


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://{host}", "http://localhost:1", ""])
def test_what_changes_something_comes_from_our_own_page(studio: Visitor, origin: str) -> None:
    answer = studio.ask("POST", "/data", b"file=people.csv", Origin=origin.format(host=studio.host))
    assert answer.status == 403
    assert studio.ask("PUT", "/upload?as=data&name=b.csv", b"a\n", Origin=origin.format(host=studio.host)).status == 403
    assert not (studio.folder / "unveil.toml").exists()
    assert not (studio.folder / "b.csv").exists()


def test_another_page_cannot_read_either(studio: Visitor) -> None:
    assert studio.get("/jobs", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors").status == 403
    assert studio.get("/static/studio.js", Sec_Fetch_Site="same-site", Sec_Fetch_Mode="no-cors").status == 403
    assert studio.get("/jobs", Origin="http://evil.example").status == 403


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux says whose a connection is")
def test_another_user_of_the_machine_is_refused_even_with_the_cookie(studio: Visitor) -> None:
    """Who sees the token in the list of processes, or gets the cookie as another server under our name."""
    line = socket.create_connection(studio.made.listening.getsockname())
    assert user_of(line.getsockname(), line.getpeername()) == os.getuid()
    line.close()
    gate = studio.made.gate
    gate.owner = 54_321
    try:
        if os.getuid():  # not root, who may anyway
            assert studio.get("/data").status == 403
        else:
            os.seteuid(54_322)
            try:
                line = socket.create_connection(studio.made.listening.getsockname())
            finally:
                os.seteuid(0)
            line.sendall(f"GET /data HTTP/1.1\r\nHost: {studio.host}\r\nCookie: {studio.cookie}\r\n\r\n".encode())
            assert b" 403 " in line.recv(100)
            line.close()
            assert studio.get("/data").status == 200
        gate.owner = os.getuid() or 54_321
        assert studio.get("/data").status == 200
    finally:
        gate.owner = None


def test_no_other_protocol_is_spoken(studio: Visitor) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13"}
    answer = stranger(studio).get("/jobs", Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==", **upgrade)
    assert answer.status == 403


def test_every_answer_has_the_headers(studio: Visitor) -> None:
    for answer in (studio.get("/data"), studio.get("/nothing"), stranger(studio).get("/data"), studio.get("/jobs")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


@pytest.mark.parametrize(
    "name",
    [
        "../outside.csv",
        "/etc/passwd",
        "releases/../../outside.csv",
        "..",
        ".unveil/jobs",
        "link.csv",
        "people.csv\0",
        "",
    ],
)
def test_no_request_names_a_file_outside_the_folder(studio: Visitor, name: str) -> None:
    for path, field in (("/data", "file"), ("/audit", "release"), ("/decide", "release"), ("/export", "exported")):
        answer = studio.post(path, **{field: name})
        assert answer.status in (400, 422), (path, answer.text)
        assert "secret" not in answer.text
    assert not (studio.folder / "unveil.toml").exists()


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/..%2f..%2fapp.py", "/static/%2e%2e/gate.py", "/people.csv"]
)
def test_the_web_has_a_few_files_of_the_package_only(studio: Visitor, path: str) -> None:
    answer = studio.get(path)
    assert answer.status == 404
    assert "flu" not in answer.text
    assert "import" not in answer.text


@pytest.mark.parametrize(
    "name", ["../x.csv", "a/b.csv", "-o.csv", ".hidden.csv", "x.html", "x.py", "x", "%00.csv", "people.csv", "s.toml"]
)
def test_uploads_have_plain_names_and_replace_nothing(studio: Visitor, name: str) -> None:
    before = sorted(studio.folder.rglob("*"))
    answer = studio.ask("PUT", f"/upload?as=data&name={name.replace('/', '%2F')}", b"a\n1\n")
    assert answer.status == 400
    assert sorted(studio.folder.rglob("*")) == before
    assert (studio.folder / "people.csv").read_text() == "age,ill\n30,flu\n40,none\n"


def test_an_oversized_upload_leaves_nothing(studio: Visitor) -> None:
    uploads = studio.folder / ".unveil" / "uploads"
    assert studio.ask("PUT", "/upload?as=data&name=large.csv", Content_Length=str(2**20 + 1)).status == 413
    # Without a length, in pieces: what it says of itself is not believed.
    pieces = b"".join(b"10000\r\n" + b"x" * 2**16 + b"\r\n" for _ in range(17))
    line = socket.create_connection(studio.made.listening.getsockname(), timeout=20)
    head = f"PUT /upload?as=data&name=large.csv HTTP/1.1\r\nHost: {studio.host}\r\nOrigin: http://{studio.host}\r\n"
    line.sendall(f"{head}Cookie: {studio.cookie}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
    line.sendall(pieces)
    assert b" 413 " in line.recv(100)
    line.close()
    assert not (studio.folder / "large.csv").exists()
    assert list(uploads.iterdir()) == []


def test_a_slow_upload_is_ended_and_does_not_hold_up_others(studio: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_page, "STALL", 0.4)
    line = socket.create_connection(studio.made.listening.getsockname(), timeout=20)
    head = f"PUT /upload?as=data&name=slow.csv HTTP/1.1\r\nHost: {studio.host}\r\nOrigin: http://{studio.host}\r\n"
    line.sendall(f"{head}Cookie: {studio.cookie}\r\nContent-Length: 1000\r\n\r\nage".encode())
    assert studio.get("/data").status == 200
    assert b" 408 " in line.recv(100)
    line.close()
    monkeypatch.setattr(data_page, "GRACE", 0.1)  # one that drips, but never stalls
    line = socket.create_connection(studio.made.listening.getsockname(), timeout=20)
    line.sendall(f"{head}Cookie: {studio.cookie}\r\nContent-Length: 1000\r\n\r\n".encode())
    line.sendall(b"a")
    time.sleep(0.2)
    line.sendall(b"a")
    assert b" 408 " in line.recv(100)
    line.close()
    assert not (studio.folder / "slow.csv").exists()
    assert list((studio.folder / ".unveil" / "uploads").iterdir()) == []


def test_it_listens_on_this_machine_only_unless_there_is_a_certificate(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="certificate"):
        prepared(tmp_path, host="192.0.2.1")
    with pytest.raises(UsageError, match="one address"):
        prepared(tmp_path, host="0.0.0.0", certificate=tmp_path, key=tmp_path)
    with running(tmp_path) as visitor:
        assert visitor.made.listening.getsockname()[0] == "127.0.0.1"


def test_what_is_private_is_for_the_owner_alone(studio: Visitor) -> None:
    for name in (".unveil", ".unveil/jobs", ".unveil/uploads", "people"):
        assert os.stat(studio.folder / name).st_mode & 0o077 == 0, name


def test_a_folder_of_somebody_elses_cannot_lead_out_of_itself(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("mine")
    for name in (".unveil", "releases", "people", "hierarchies"):
        folder = tmp_path / f"with {name}"
        folder.mkdir()
        (folder / name).symlink_to(outside)
        with pytest.raises(UsageError, match="is a link"):
            prepared(folder)
    assert [p.name for p in outside.iterdir()] == ["kept.txt"]
    folder = tmp_path / "linked"
    (folder / "releases").mkdir(parents=True)
    (folder / "decisions.jsonl").symlink_to(outside / "kept.txt")
    (folder / "releases" / "r.csv").write_text("a\n1\n")
    with running(folder) as visitor:
        form = {"release": "releases/r.csv", "answer": "publish", "who": "Ada", "why": "-"}
        answer = visitor.admitted().post("/decide", **form)
        assert "cannot be written" in answer.text
    assert (outside / "kept.txt").read_text() == "mine"


ODD = ("", "²", "-1", "9" * 5000, "1e999", "nan", "\0", "a\r\nb: c", "../x", "--x", "@/etc/passwd", "$(x)", "٣")
FORMS = {
    "/data": ("file", "delimiter", "encoding"),
    "/roles": ("role-0", "membership", "earlier"),
    "/roles/0/build": ("preset",),
    "/roles/0/move": ("node", "parent"),
    "/anonymize": ("scheme", "k", "t", "name"),
    "/audit": ("release", "preset", "minutes", "limit", "known", "document"),
    "/choose/make": ("point", "repair"),
    "/frontier": ("sample",),
    "/decide": ("release", "answer", "who"),
    "/export": ("exported",),
    "/jobs/1/stop": ("x",),
}


def test_no_odd_request_makes_it_stumble(studio: Visitor) -> None:
    for path, names in FORMS.items():
        for name in names:
            for text in ODD:
                answer = studio.post(path, **{name: text})
                assert answer.status in (303, 400, 422), (path, name, text[:20], answer.text)
    for query in ("/who?document=", "/audit?document=", "/release?release=", "/data?lang=", "/who?x=", "/upload?as="):
        for text in ODD:
            assert studio.get(query + quote(text)).status < 500, (query, text[:20])
    for body in (b"&".join(b"a%d=1" % i for i in range(60_000)), b"a" * (2**20 + 1)):
        assert studio.ask("POST", "/roles", body).status == 413
    odd = ("/roles/" + "9" * 4000, "/reports/x%0d%0aSet-Cookie:%20a=b", "/reports/..%2f..%2fx", "/%ff%fe", "//x/")
    for path in odd:
        answer = studio.get(path)
        assert answer.status in (400, 404)
        assert "a=b" not in str(answer.headers)
    assert not (studio.folder / "unveil.toml").exists()
