"""Formulas of Office documents on one line: ``(-b±√(b^2-4ac))/2a``."""

from __future__ import annotations

from pincite.loaders.office_package import Element, attribute, child, local

__all__ = ["formula_text"]

_SIGNS = frozenset("=+−-±×·/<>≤≥≠≈, ")


def formula_text(element: Element | None) -> str:
    """The formula in `element` (Office Math) with signs for what stands above, below and under a root.

    Fractions are ``a/b``, powers ``a^b``, indices ``a_b``, roots ``√a``; what has more than one part is in brackets.
    """
    if element is None:
        return ""
    tag = local(element)
    if tag == "t":
        return str(element.text or "")
    if tag == "f":
        return f"{_held(child(element, 'num'))}/{_held(child(element, 'den'))}"
    if tag == "rad":
        degree = formula_text(child(element, "deg"))
        return f"{degree}√{_held(child(element, 'e'))}"
    if tag in ("sSup", "sSub", "sSubSup"):
        return f"{_held(child(element, 'e'))}{_scripts(element)}"
    if tag == "nary":
        sign = _property(element, "chr") or "∫"
        return f"{sign}{_scripts(element)} {formula_text(child(element, 'e'))}"
    if tag in ("limLow", "limUpp"):
        return f"{formula_text(child(element, 'e'))}_{_held(child(element, 'lim'))}"
    if tag == "func":
        argument = formula_text(child(element, "e"))
        return f"{formula_text(child(element, 'fName'))}{argument if argument[:1] in '([{' else f' {argument}'}"
    if tag == "d":
        parts = [formula_text(each) for each in element if local(each) == "e"]
        return f"{_property(element, 'begChr') or '('}{', '.join(parts)}{_property(element, 'endChr') or ')'}"
    if tag in ("m", "eqArr"):
        rows = [each for each in element if local(each) in ("mr", "e")]
        return "; ".join(", ".join(map(formula_text, row)) if local(row) == "mr" else formula_text(row) for row in rows)
    return "".join(formula_text(each) for each in element if not local(each).endswith("Pr"))


def _scripts(element: Element) -> str:
    below, above = child(element, "sub"), child(element, "sup")
    written = f"_{_held(below)}" if formula_text(below) else ""
    return f"{written}^{_held(above)}" if formula_text(above) else written


def _held(element: Element | None) -> str:
    """A formula in brackets where it would be taken for less than it is."""
    text = formula_text(element).strip()
    whole = text[:1] == "(" and text[-1:] == ")" and text.count("(") == 1
    return f"({text})" if not whole and any(sign in _SIGNS for sign in text) else text


def _property(element: Element, name: str) -> str:
    properties = next((each for each in element if local(each).endswith("Pr")), None)
    found = child(properties, name)
    return attribute(found, "val") if found is not None else ""
