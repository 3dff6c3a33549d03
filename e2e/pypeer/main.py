"""Plays an independent peer, written from docs/wire.md, against running daemons: one line for each check.

    python3 main.py ENV.json [NAME ...]

ENV.json says where the daemons are and which keys they know (e2e/interop_test.go writes it)."""
import json
import sys
import time
import traceback

import conform  # noqa: F401  registers its checks
import carry  # noqa: F401
import attacks  # noqa: F401
import liars  # noqa: F401
from base import CHECKS, Deaf, Host


def main():
    with open(sys.argv[1]) as f:
        env = json.load(f)
    only = sys.argv[2:]
    host, failed = Host(env), 0
    for name, f, who in CHECKS:
        if only and name not in only:
            continue
        peer, began = Deaf(env, who), time.time()
        try:
            said = f(peer, host)
            line = "ok %s: %s" % (name, said or f.__doc__ and f.__doc__.split("\n")[0] or "")
        except AssertionError as e:
            line = "FAIL %s: %s" % (name, e)
        except Exception as e:  # a bug of ours, or a packet that is not as the page says
            line = "FAIL %s: %s: %s (%s)" % (name, type(e).__name__, e, " <- ".join(
                "%s:%d" % (t.name, t.lineno) for t in reversed(traceback.extract_tb(e.__traceback__))))
        finally:
            try:
                peer.close()
            except OSError:
                pass
        failed += line.startswith("FAIL")
        print("%s (%.1f s)" % (line.rstrip(": "), time.time() - began), flush=True)
    broken = [b for b in host.blasts() if b["failed"]]
    print("%s blasts-are-sent: %s" % ("FAIL" if broken else "ok", broken or "no blast ended early"))
    failed += bool(broken)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
