"""Whether an authority is in the corpus as it is named."""

from __future__ import annotations

from pincite.verify.lookup_cases import LATER, look_up_case
from pincite.verify.lookup_provisions import look_up_provision
from pincite.verify.records import Authority, Finding
from pincite.verify.registry import Registry

__all__ = ["LATER", "look_up"]


def look_up(authority: Authority, registry: Registry, as_of: str | None = None, *, sentence: str = "") -> Finding:
    """What the registry has of `authority`; see `pincite.verify.records.AuthorityStatus`.

    `as_of` is a day, ISO 8601: a provision that was not in force then is ``not-in-force``; None asks for what is
    recorded as current. `sentence` is the sentence that names it: with it, a provision that is there but about
    something else, where another act's with that number fits, is ``wrong-act``. Never raises for what it is given.
    """
    if authority.kind == "case":
        return look_up_case(authority, registry)
    return look_up_provision(authority, registry, as_of, sentence)
