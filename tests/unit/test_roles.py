from __future__ import annotations

import pytest

from pincite.roles import exchanged


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("smith sues jones.", "jones sues smith."),
        ("the landlord pays the tenant.", "the tenant pays the landlord."),
        ("the landlord pays the deposit to the tenant.", "the tenant pays the deposit to the landlord."),
        ("goods go from delhi to mumbai.", "goods go from mumbai to delhi."),
        ("france is larger than spain.", "spain is larger than france."),
        ("the landlord sued the tenant.", "the landlord was sued by the tenant."),
        ("nadia brandt replaced oskar lind.", "oskar lind replaced nadia brandt."),
    ],
)
def test_exchanged(statement: str, sentence: str) -> None:
    told = exchanged(statement, sentence)
    assert told.startswith("in the source “")
    assert told.endswith("have each other's part")
    assert exchanged(sentence, statement)
    assert not exchanged(statement, statement)


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("the respondent was awarded the costs.", "the costs were awarded to the respondent."),
        ("risk passes on delivery to the buyer.", "risk passes to the buyer on delivery."),
        ("the court may appoint a guardian.", "a guardian may be appointed by the district court."),
        ("jones was sued by smith.", "smith sued jones."),
        ("theft, fraud and arson are crimes.", "arson, fraud and theft are crimes."),
        ("the guardian lives with the ward.", "the ward lives with the guardian."),
        ("smith married jones.", "jones married smith."),
        ("loss caused by strikes.", "loss caused by war, strikes or floods."),
        ("", "the tenant pays the landlord."),
    ],
)
def test_not_exchanged(statement: str, sentence: str) -> None:
    assert exchanged(statement, sentence) == ""
