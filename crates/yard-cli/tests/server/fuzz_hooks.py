"""Makes schemathesis guess what can be there: a random text hardly ever names a file or a chat, and an
answer that is always a refusal shows little. Every fourth guess stays as it is."""

import schemathesis

PATHS = ["/a.txt", "/b.txt", "/folder", "/", "/folder/new.txt", "/plans/a.plan", "missing"]
ONE_PATH = ("path", "source", "destination", "plan_file_path", "filePath", "dirPath", "from", "to")


def stays(guess):
    return not isinstance(guess, str) or len(guess) % 4 == 0


def likelier(guess):
    if stays(guess):
        return guess
    return PATHS[sum(guess.encode("utf-8", "replace")) % len(PATHS)]


@schemathesis.hook
def map_body(context, body):
    args = body.get("args") if isinstance(body, dict) else None
    if not isinstance(args, dict):
        return body
    for name in ONE_PATH:
        if name in args:
            args[name] = likelier(args[name])
    if isinstance(args.get("paths"), list):
        args["paths"] = [likelier(path) for path in args["paths"]]
    # Nobody is there who could decide or answer.
    body["wait_ms"] = min(body["wait_ms"], 20) if isinstance(body.get("wait_ms"), int) else 0
    if not stays(body.get("chat_id")):
        del body["chat_id"]
    return body


@schemathesis.hook
def map_headers(context, headers):
    # The same key for another request is refused, and guesses are few and short.
    if headers and len(headers.get("Idempotency-Key") or "") < 8:
        headers.pop("Idempotency-Key", None)
    return headers
