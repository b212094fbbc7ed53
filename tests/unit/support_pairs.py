"""Statements about legal English, each with a source and whether the source supports it.

`TUNING` was used to write the rules of `pincite.claims`, `CHECKING` to check them, which led to three
changes (docs/decisions/0008-support.md). `MENDED` holds what those rules missed and later ones mend, `FRESH` was
written before it was first run and checks those: docs/decisions/0019-support.md.
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

SAFETY = (
    "The relief valve opens at 40 bar and shall be tested every six months. The operator may restart the pump, "
    "unless the alarm is active. Only certified engineers may replace the seal. The pressure must not exceed 55 "
    "bar while the unit is running. If the temperature rises above 90 degrees, the controller stops the motor. "
    "The supplier trains the operator. Some gauges are read daily. The unit was commissioned on 1 July 2024 by "
    "Harbor Engineering."
)

DEED = (
    "Mr Ferris sold the workshop to Ms Adeyemi on 14 March 2022 for two hundred and fifty thousand euros. Half of "
    "the price was paid at signing; the rest is due within eighteen months, provided that the land register is "
    "updated. The buyer shall insure the building. The seller may use the yard until 30 September 2022. The deed "
    "does not cover the machines, except the crane. All earlier agreements between the parties are void. Disputes "
    "are decided by the courts of Lyon. The roof is guaranteed for ten years from delivery."
)

MENDED: list[tuple[str, str, bool]] = [
    ("The operator trains the supplier.", SAFETY, False),
    ("The operator may restart the pump.", SAFETY, False),
    ("The operator may restart the pump unless the alarm is active.", SAFETY, True),
    ("Engineers may replace the seal.", SAFETY, False),
    ("The controller stops the motor.", SAFETY, False),
    ("The controller stops the motor if the temperature rises above 90 degrees.", SAFETY, True),
    ("All gauges are read daily.", SAFETY, False),
    ("Some gauges are read daily.", SAFETY, True),
    ("The unit was commissioned on 2024-07-01 by Harbor Engineering.", SAFETY, True),
    ("The unit was commissioned on July 1, 2024 by Harbor Engineering.", SAFETY, True),
    ("The unit was commissioned on July 2, 2024 by Harbor Engineering.", SAFETY, False),
    ("The unit was commissioned on 1 June 2024 by Harbor Engineering.", SAFETY, False),
    ("Ms Adeyemi sold the workshop to Mr Ferris on 14 March 2022.", DEED, False),
    ("Mr Ferris sold the workshop to Ms Adeyemi for 250,000 euros.", DEED, True),
    ("Mr Ferris sold the workshop to Ms Adeyemi for 200,000 euros.", DEED, False),
    ("50 % of the price was paid at signing.", DEED, True),
    ("60 % of the price was paid at signing.", DEED, False),
    ("The rest of the price is due within 18 months.", DEED, False),
    ("The rest of the price is due within 18 months if the land register is updated.", DEED, True),
    ("The deed does not cover the machines.", DEED, False),
]

CARE = (
    "A guardian may be appointed by the district court if a minor has no parent. The guardian reports to the "
    "court once a year. The court may remove the guardian only for serious neglect. Either parent may object "
    "within three weeks. The ward lives with the guardian. No fee is charged for the application. Most hearings "
    "are held in private. The guardian shall keep accounts of the ward's property, except gifts below 100 pounds. "
    "On 3 February 2021 the court appointed Nadia Brandt, who replaced Oskar Lind. Two thirds of the estate "
    "passes to the children."
)

TRADE = (
    "The carrier delivers the containers from Rotterdam to Oslo every Tuesday. The shipper pays the carrier a fee "
    "of 1.5 million kroner per quarter. Claims must be made in writing not later than 60 days after arrival. The "
    "carrier is not liable for loss caused by war, strikes or acts of God. The shipper may cancel a voyage, but "
    "must pay one half of the fee. Every container shall be sealed before loading. Nordhav AS acquired Baltic "
    "Lines in May 2019. The agent may sign for the carrier. Spoiled goods are returned to the shipper unless "
    "customs objects."
)

FRESH: list[tuple[str, str, bool]] = [
    ("The district court may appoint a guardian.", CARE, False),
    ("The district court may appoint a guardian if a minor has no parent.", CARE, True),
    ("The guardian reports to the court once a year.", CARE, True),
    ("The guardian reports to the court twice a year.", CARE, False),
    ("The court reports to the guardian once a year.", CARE, False),
    ("The court may remove the guardian.", CARE, False),
    ("The court may remove the guardian only for serious neglect.", CARE, True),
    ("The guardian may remove the court only for serious neglect.", CARE, False),
    ("Either parent may object within 3 weeks.", CARE, True),
    ("Either parent may object within three months.", CARE, False),
    ("The guardian lives with the ward.", CARE, True),
    ("A fee is charged for the application.", CARE, False),
    ("The application is free of charge.", CARE, True),
    ("All hearings are held in private.", CARE, False),
    ("Most hearings are held in private.", CARE, True),
    ("The guardian must keep accounts of the ward's property.", CARE, False),
    ("The guardian must keep accounts of the ward's property, except gifts below £100.", CARE, True),
    ("The court appointed Nadia Brandt on February 3, 2021.", CARE, True),
    ("The court appointed Oskar Lind on 3 February 2021.", CARE, False),
    ("The court appointed Nadia Brandt on 2021-02-13.", CARE, False),
    ("Oskar Lind replaced Nadia Brandt.", CARE, False),
    ("Nadia Brandt replaced Oskar Lind.", CARE, True),
    ("2/3 of the estate passes to the children.", CARE, True),
    ("One third of the estate passes to the children.", CARE, False),
    ("The carrier delivers the containers from Oslo to Rotterdam.", TRADE, False),
    ("The carrier delivers containers from Rotterdam to Oslo on Tuesdays.", TRADE, True),
    ("The carrier pays the shipper a fee of 1.5 million kroner per quarter.", TRADE, False),
    ("The shipper pays the carrier 1,500,000 kroner each quarter.", TRADE, True),
    ("The shipper pays the carrier 1,500,000 kroner each month.", TRADE, False),
    ("Claims must be made in writing no later than sixty days after arrival.", TRADE, True),
    ("Claims may be made in writing no later than sixty days after arrival.", TRADE, False),
    ("Claims must be made in writing no later than sixty days before arrival.", TRADE, False),
    ("The carrier is liable for loss caused by strikes.", TRADE, False),
    ("The carrier is not liable for loss caused by strikes.", TRADE, True),
    ("The shipper may cancel a voyage.", TRADE, True),
    ("The shipper must cancel a voyage.", TRADE, False),
    ("The carrier may cancel a voyage.", TRADE, False),
    ("Containers must be sealed before loading.", TRADE, True),
    ("Containers must be sealed after loading.", TRADE, False),
    ("Baltic Lines acquired Nordhav AS in May 2019.", TRADE, False),
    ("Nordhav AS acquired Baltic Lines in May 2019.", TRADE, True),
    ("Nordhav AS acquired Baltic Lines in March 2019.", TRADE, False),
    ("The carrier may sign for the agent.", TRADE, False),
    ("Spoiled goods are returned to the shipper.", TRADE, False),
]
