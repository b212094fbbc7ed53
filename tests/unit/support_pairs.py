"""Statements about legal English, each with a source and whether the source supports it.

`TUNING` was used to write the rules of `pincite.claims`, `CHECKING` to check them, which led to three
changes (docs/decisions/0008-support.md).
"""

from __future__ import annotations

LEASE = (
    "1. Term. The term of this lease is two years from 1 March 2024. 2. Rent. The tenant shall pay a monthly "
    "rent of 1,250 euros, payable in advance on the third working day of each month. 3. Deposit. The tenant "
    "shall pay a deposit of three months' rent before moving in. The landlord returns the deposit within six "
    "months after the end of the lease. 4. Termination. Either party may terminate this lease by giving at "
    "least three months' written notice. The landlord may terminate without notice if the tenant is more than "
    "two months in arrears. 5. Pets. The tenant may not keep dogs without the landlord's written consent."
)

SUPPLY = (
    "The Supplier shall deliver the goods within 30 days after receipt of the purchase order. Risk passes to "
    "the Buyer on delivery. The Buyer may reject goods that do not conform to the specification within ten "
    "days of delivery. The Supplier's total liability under this agreement shall not exceed 50,000 dollars. "
    "Neither party is liable for delay caused by events beyond its reasonable control. This agreement is "
    "governed by the laws of the State of New York. Confidential information must be kept secret for five "
    "years after termination."
)

CONSTITUTION = (
    "The Senate of the United States shall be composed of two Senators from each State, for six Years; and "
    "each Senator shall have one Vote. No Person shall be a Senator who shall not have attained to the Age of "
    "thirty Years. The Vice President of the United States shall be President of the Senate, but shall have no"
    " Vote, unless they be equally divided. The Congress shall assemble at least once in every Year. Treason "
    "against the United States shall consist only in levying War against them."
)

JUDGMENT = (
    "The appellant, Mr Harlow, was convicted of theft under section 7 of the Act on 4 May 2019. He was "
    "sentenced to eighteen months' imprisonment. The Court of Appeal dismissed his appeal against conviction "
    "but allowed the appeal against sentence. Justice Okafor dissented. The sentence was reduced to twelve "
    "months. The costs of the appeal were awarded to the respondent."
)

NDA = (
    "The Recipient shall use the Confidential Information solely for the Purpose and shall not disclose it to "
    "any third party without the Discloser's prior written consent. The Recipient may disclose Confidential "
    "Information to its employees who need to know it. On request the Recipient returns or destroys all copies"
    " within 14 days. This agreement expires on 31 December 2027. No licence is granted under this agreement. "
    "A breach entitles the Discloser to injunctive relief. Disputes are settled by arbitration in Geneva."
)

ACT = (
    "Whoever commits theft shall be punished with imprisonment for a term which may extend to three years, or "
    "with fine, or with both. An appeal lies to the High Court from any order made under section 12. The "
    "appeal must be filed within sixty days of the order. The High Court may extend this period where "
    "sufficient cause is shown. Nothing in this section applies to a person below the age of seven years. The "
    "Act extends to the whole of India."
)

TUNING: list[tuple[str, str, bool]] = [
    ("The term of the lease is two years.", LEASE, True),
    ("The lease runs for a term of two years from 1 March 2024.", LEASE, True),
    ("The term of the lease is three years.", LEASE, False),
    ("The term of the lease is 2 years.", LEASE, True),
    ("The monthly rent is 1,250 euros.", LEASE, True),
    ("The monthly rent is 1,250 dollars.", LEASE, False),
    ("The monthly rent is 1,520 euros.", LEASE, False),
    ("The rent is payable in advance on the third working day of each month.", LEASE, True),
    ("The rent is payable in advance on the fifth working day of each month.", LEASE, False),
    ("The tenant must pay a deposit of three months' rent before moving in.", LEASE, True),
    ("The tenant may pay a deposit of three months' rent before moving in.", LEASE, False),
    ("The deposit is returned within six months after the end of the lease.", LEASE, True),
    ("The deposit is returned within six weeks after the end of the lease.", LEASE, False),
    ("Either party may terminate the lease with at least three months' written notice.", LEASE, True),
    ("Either party may terminate the lease with at most three months' written notice.", LEASE, False),
    ("The landlord may terminate without notice if the tenant is more than two months in arrears.", LEASE, True),
    ("The tenant may keep dogs without the landlord's written consent.", LEASE, False),
    ("The tenant is not allowed to keep dogs without the landlord's written consent.", LEASE, True),
    ("The Supplier must deliver the goods within 30 days of receiving the purchase order.", SUPPLY, True),
    ("The Supplier must deliver the goods within 30 days of receiving the invoice.", SUPPLY, False),
    ("The Supplier's total liability is at most 50,000 dollars.", SUPPLY, True),
    ("The Supplier's total liability is more than 50,000 dollars.", SUPPLY, False),
    ("The Buyer may reject non-conforming goods within ten days of delivery.", SUPPLY, True),
    ("The agreement is governed by the laws of the State of California.", SUPPLY, False),
    ("The agreement is governed by the laws of New York.", SUPPLY, True),
    ("Confidential information must be kept secret for five years after termination of the agreement.", SUPPLY, True),
    ("Confidential information must be kept secret for five years before termination.", SUPPLY, False),
    ("The Buyer may terminate the agreement within ten days of delivery.", SUPPLY, False),
]

CHECKING: list[tuple[str, str, bool]] = [
    ("Each State has two Senators in the Senate.", CONSTITUTION, True),
    ("Each State has three Senators in the Senate.", CONSTITUTION, False),
    ("Senators serve for six years.", CONSTITUTION, True),
    ("A Senator must be at least thirty years old.", CONSTITUTION, True),
    ("A Senator must be at least twenty-five years old.", CONSTITUTION, False),
    ("The Vice President is President of the Senate.", CONSTITUTION, True),
    ("The Vice President is President of the House.", CONSTITUTION, False),
    ("The Vice President has a vote in the Senate.", CONSTITUTION, False),
    ("The Congress must assemble at least once every year.", CONSTITUTION, True),
    ("The Congress must assemble at least twice every year.", CONSTITUTION, False),
    ("Treason against the United States consists only in levying war against them.", CONSTITUTION, True),
    ("Mr Harlow was convicted of theft under section 7 of the Act.", JUDGMENT, True),
    ("Mr Harlow was convicted of theft under section 9 of the Act.", JUDGMENT, False),
    ("Mr Harlow was convicted of fraud under section 7 of the Act.", JUDGMENT, False),
    ("Mr Marlow was convicted of theft under section 7 of the Act.", JUDGMENT, False),
    ("The Court of Appeal dismissed the appeal against conviction.", JUDGMENT, True),
    ("The Court of Appeal allowed the appeal against conviction.", JUDGMENT, False),
    ("Justice Okafor dissented.", JUDGMENT, True),
    ("Justice Mensah dissented.", JUDGMENT, False),
    ("The sentence was reduced to twelve months.", JUDGMENT, True),
    ("The sentence was increased to twelve months.", JUDGMENT, False),
    ("He was sentenced to eighteen months of imprisonment.", JUDGMENT, True),
    ("The respondent was awarded the costs of the appeal.", JUDGMENT, True),
    ("The appellant was awarded the costs of the appeal.", JUDGMENT, False),
    ("The costs of the appeal were paid by the insurer.", JUDGMENT, False),
    ("Neither party is liable for delays caused by events outside its reasonable control.", SUPPLY, True),
    ("The Supplier is liable for delay caused by events beyond its reasonable control.", SUPPLY, False),
    ("Risk passes to the Buyer on payment.", SUPPLY, False),
    ("Risk passes to the Supplier on delivery.", SUPPLY, False),
    ("Risk passes on delivery to the Buyer.", SUPPLY, True),
    (
        "The Recipient must not disclose Confidential Information to third parties without the Discloser's consent.",
        NDA,
        True,
    ),
    (
        "The Recipient may disclose Confidential Information to third parties without the Discloser's consent.",
        NDA,
        False,
    ),
    ("The Recipient may disclose Confidential Information to employees who need to know it.", NDA, True),
    ("The Recipient must disclose Confidential Information to employees who need to know it.", NDA, False),
    ("All copies are returned or destroyed within 14 days.", NDA, True),
    ("All copies are returned or destroyed within 40 days.", NDA, False),
    ("The agreement expires on 31 December 2027.", NDA, True),
    ("The agreement expires on 31 December 2026.", NDA, False),
    ("The agreement expires on 31 January 2027.", NDA, False),
    ("A licence is granted under this agreement.", NDA, False),
    ("No licence is granted.", NDA, True),
    ("Disputes are resolved by arbitration in Geneva.", NDA, True),
    ("Disputes are settled by arbitration in Zurich.", NDA, False),
    ("Disputes are settled by the courts of Geneva.", NDA, False),
    ("Theft is punished with imprisonment of up to three years, a fine, or both.", ACT, True),
    ("Theft is punished with imprisonment of at least three years.", ACT, False),
    ("An appeal from an order under section 12 lies to the High Court.", ACT, True),
    ("An appeal from an order under section 21 lies to the High Court.", ACT, False),
    ("An appeal lies to the Supreme Court from any order made under section 12.", ACT, False),
    ("The appeal must be filed within 60 days of the order.", ACT, True),
    ("The appeal must be filed within sixty days of the hearing.", ACT, False),
    ("The High Court may extend the period if sufficient cause is shown.", ACT, True),
    ("The High Court must extend the period if sufficient cause is shown.", ACT, False),
    ("The section does not apply to persons below the age of seven years.", ACT, True),
    ("The section applies to a person below the age of seven years.", ACT, False),
    ("The Act extends to the whole of India.", ACT, True),
    ("The Act extends to the whole of Nepal.", ACT, False),
]
