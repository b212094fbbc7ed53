"""Statements with the passage each was written from, and whether the passage supports the statement.

Written from statutes, a constitution, judgments and a packaging manual by somebody who had not read the rules of
`pincite.support`, all of them before the first run; run once, and not used for tuning. A false statement is wrong in
one thing. `test_support_unseen` holds the errors that were counted.
"""

from __future__ import annotations

UNSOUND = (
    "84. Act of a person of unsound mind.—Nothing is an offence which is done by a person who, at the time of "
    "doing it, by reason of unsoundness of mind, is incapable of knowing the nature of the act, or that he is "
    "doing what is either wrong or contrary to law."
)

INTOXICATION = (
    "85. Act of a person incapable of judgment by reason of intoxication caused against his will.— Nothing is "
    "an offence which is done by a person who, at the time of doing it, is, by reason of intoxication, "
    "incapable of knowing the nature of the act, or that he is doing what is either wrong, or contrary to law: "
    "provided that the thing which intoxicated him was administered to him without his knowledge or against "
    "his will."
)

CHILD = (
    "82. Act of a child under seven years of age.—Nothing is an offence which is done by a child under seven "
    "years of age. 83. Act of a child above seven and under twelve of immature understanding.—Nothing is an "
    "offence which is done by a child above seven years of age and under twelve, who has not attained "
    "sufficient maturity of understanding to judge of the nature and consequences of his conduct on that "
    "occasion."
)

COMMON = (
    "34. Acts done by several persons in furtherance of common intention.—When a criminal act is done by "
    "several persons in furtherance of the common intention of all, each of such persons is liable for that "
    "act in the same manner as if it were done by him alone."
)

FINE = (
    "65. Limit to imprisonment for non-payment of fine, when imprisonment and fine awardable.— The term for "
    "which the Court directs the offender to be imprisoned in default of payment of a fine shall not exceed "
    "one-fourth of the term of imprisonment which is the maximum fixed for the offence, if the offence be "
    "punishable with imprisonment as well as fine."
)

AFFRAY = (
    "159. Affray.—When two or more persons, by fighting in a public place, disturb the public peace, they are "
    "said to “commit an affray”. 160. Punishment for committing affray.—Whoever commits an affray, shall be "
    "punished with imprisonment of either description for a term which may extend to one month, or with fine "
    "which may extend to one hundred rupees, or with both."
)

LIFE = (
    "57. Fractions of terms of punishment.—In calculating fractions of terms of punishment, imprisonment for "
    "life shall be reckoned as equivalent to imprisonment for twenty years."
)

MISTAKE = (
    "79. Act done by a person justified, or by mistake of fact believing himself, justified, by law.— Nothing "
    "is an offence which is done by any person who is justified by law, or who by reason of a mistake of fact "
    "and not by reason of a mistake of law in good faith, believes himself to be justified by law, in doing "
    "it."
)

NEGLIGENCE = (
    "(1) Whoever causes the death of any person by doing any rash or negligent act not amounting to culpable "
    "homicide, shall be punished with imprisonment of either description for a term which may extend to seven "
    "years, and shall also be liable to fine. (2) Whoever causes death of any person by doing any rash or "
    "negligent act not amounting to culpable homicide and escapes from the scene of incident or fails to "
    "report the incident to a Police officer or Magistrate soon after the incident, shall be punished with "
    "imprisonment of either description of a term which may extend to ten years, and shall also be liable to "
    "fine."
)

SNATCHING = (
    "(1) Theft is “snatching” if, in order to commit theft, the offender suddenly or quickly or forcibly "
    "seizes or secures or grabs or takes away from any person or from his possession any moveable property. "
    "(2) Whoever commits snatching, shall be punished with imprisonment of either description for a term which "
    "may extend to three years, and shall also be liable to fine."
)

TRADING = (
    "Whoever, being a public servant, and being legally bound as such a public servant not to engage in trade, "
    "engages in trade, shall be punished with simple imprisonment for a term which may extend to one year, or "
    "with fine, or with both or with community service."
)

PROVOCATION = (
    "Whoever assaults or uses criminal force to any person on grave and sudden provocation given by that "
    "person, shall be punished with simple imprisonment for a term which may extend to one month, or with fine "
    "which may extend to one thousand rupees, or with both."
)

CUSTODY = (
    "No police officer shall detain in custody a person arrested without warrant for a longer period than "
    "under all the circumstances of the case is reasonable, and such period shall not, in the absence of a "
    "special order of a Magistrate under section 187, exceed twenty-four hours exclusive of the time necessary "
    "for the journey from the place of arrest to the Magistrate's Court, whether having jurisdiction or not."
)

BAIL = (
    "When any person has reason to believe that he may be arrested on an accusation of having committed a "
    "non-bailable offence, he may apply to the High Court or the Court of Session for a direction under this "
    "section; and that Court may, if it thinks fit, direct that in the event of such arrest, he shall be "
    "released on bail."
)

INVESTIGATION = (
    "(1) Every investigation under this Chapter shall be completed without unnecessary delay. (2) The "
    "investigation in relation to an offence under sections 64, 65, 66, 67, 68, 70, 71 of the Bharatiya Nyaya "
    "Sanhita, 2023 or under sections 4, 6, 8 or section 10 of the Protection of Children from Sexual Offences "
    "Act, 2012 shall be completed within two months from the date on which the information was recorded by the "
    "officer in charge of the police station."
)

RESIST = (
    "(2) If such person forcibly resists the endeavour to arrest him, or attempts to evade the arrest, such "
    "police officer or other person may use all means necessary to effect the arrest."
)

DETENTION = (
    "(1) No person who is arrested shall be detained in custody without being informed, as soon as may be, of "
    "the grounds for such arrest nor shall he be denied the right to consult, and to be defended by, a legal "
    "practitioner of his choice. (2) Every person who is arrested and detained in custody shall be produced "
    "before the nearest magistrate within a period of twenty-four hours of such arrest excluding the time "
    "necessary for the journey from the place of arrest to the court of the magistrate and no such person "
    "shall be detained in custody beyond the said period without the authority of a magistrate. (3) Nothing in "
    "clauses (1) and (2) shall apply — (a) to any person who for the time being is an enemy alien; or (b) to "
    "any person who is arrested or detained under any law providing for preventive detention."
)

CONVICTION = (
    "(2) No person shall be prosecuted and punished for the same offence more than once. (3) No person accused "
    "of any offence shall be compelled to be a witness against himself."
)

PRESIDENT = (
    "(1) The President shall hold office for a term of five years from the date on which he enters upon his "
    "office: Provided that — (a) the President may, by writing under his hand addressed to the Vice-President, "
    "resign his office; (b) the President may, for violation of the Constitution, be removed from office by "
    "impeachment in the manner provided in article 61; (c) the President shall, notwithstanding the expiration "
    "of his term, continue to hold office until his successor enters upon his office."
)

ADVICE = (
    "(1) There shall be a Council of Ministers with the Prime Minister at the head to aid and advise the "
    "President who shall, in the exercise of his functions, act in accordance with such advice: Provided that "
    "the President may require the Council of Ministers to reconsider such advice, either generally or "
    "otherwise, and the President shall act in accordance with the advice tendered after such reconsideration. "
    "(2) The question whether any, and if so what, advice was tendered by Ministers to the President shall not "
    "be inquired into in any court."
)

SEAT = (
    "A person shall not be qualified to be chosen to fill a seat in Parliament unless he— (b) is, in the case "
    "of a seat in the Council of States, not less than thirty years of age and, in the case of a seat in the "
    "House of the People, not less than twenty-five years of age."
)

JUDGES = (
    "(2) Every Judge of the Supreme Court shall be appointed by the President by warrant under his hand and "
    "seal after consultation with such of the Judges of the Supreme Court and of the High Courts in the States "
    "as the President may deem necessary for the purpose and shall hold office until he attains the age of "
    "sixty-five years: Provided that in the case of appointment of a Judge other than the Chief Justice, the "
    "Chief Justice of India shall always be consulted."
)

ANIL = (
    "The State of U.P. and the informant have preferred these appeals with special leave, challenging the "
    "order of acquittal recorded by the Allahabad High Court in Criminal Appeal No. 2340 of 1978. Anil Singh, "
    "the common respondent in the appeals was tried for the murder of Keshav Kumar ('K-K') by the Court of "
    "Session (Non- Metropolitan area), Kanpur. He was convicted and sentenced to imprisonment for life. But on "
    "appeal, he was acquitted by the High Court."
)

SEVEN = (
    "The appellant was one of the seven accused put up for trial before the Court of Session for offence under "
    "Section 302 read with 149 IPC as well for other lesser offences. The trial Court acquitted all the "
    "accused. The High Court on appeal at the instance of the State maintained the acquittal of six accused "
    "persons other than the appellant. The appeal vis-a-vis the appellant was allowed convicting him for "
    "offence under Section 302 IPC sentencing him to life imprisonment."
)

INTENT = (
    "Thus, if there is intent and knowledge then the same would be a case of Section 304 Part I and if it is "
    "only a case of knowledge and not intention to cause murder and bodily injury then the same would fall "
    "under Section 304 Part II. We are inclined to the view that in the facts and circumstances of the present "
    "case, it cannot be said that the appellant-accused had any intention of causing the death of the deceased "
    "when he committed the act in question. The incident took place out of grave and sudden provocation and "
    "hence the accused is entitled to the benefit of Section 300 Exception 4 of the IPC."
)

ALIBI = (
    "Having learnt of the accusation against him the accused-appellant had moved an application on 10.7.1989 "
    "seeking anticipatory bail from the Sessions Courts. The application was rejected. He pursued his prayer "
    "for anticipatory bail by moving the High Court but thereat also he failed."
)

PURCHASES = (
    "On May 20, 1960, the Chief Engineer delegated his power to Apte to make such purchases up to a maximum of "
    "Rs. 10, 000/- for each order. He could also place orders with regard to printing, stationary and office "
    "equipment up to a certain limit. The respondent in the other appeal Maj. B. S. Talwar served as Staff "
    "Officer No. 2 in the same establishment under Brig. Mani and Apte."
)

KNIFE = (
    "Based on the admissible portion of the Confession Statement of the appellant, Exhibit (1), the kitchen "
    "knife alleged to have been used in the murder of the deceased was recovered from the kitchen slab of the "
    "house of the appellant in the presence of the accused which was established by Exhibit KA 3."
)

MOTIVE = (
    "Learned counsel further submitted that in the presence of direct evidence, motive recedes to the "
    "background and, therefore, it is not necessary for the prosecution to prove the motive of the appellant "
    "to commit the murder of the deceased. We have carefully considered the respective contentions of the "
    "learned counsel for the parties and perused the entire material on record."
)

BENCH = (
    "These appeals by special leave are against five judges Full Bench judgment of Rajasthan High Court passed "
    "in three different writ applications whereby by a majority of 3:2, the same have been dismissed."
)

TARGETS = (
    'Both the "binary-arch" and "binary-indep" targets *must* exist. If one of them has nothing to do (which '
    "will always be the case if the source generates only a single binary package, whether "
    "architecture-dependent or not), it must still exist and must always succeed."
)

DESCRIPTION = (
    'Every Debian package must have a "Description" control field which contains a synopsis and extended '
    'description of the package. Technical information about the format of the "Description" field is in '
    "Description."
)

CONFIG = (
    '"config" is an additional maintainer script used for package configuration, and "templates" contains '
    'templates used for user prompting. The "config" script might be run before the "preinst" script and '
    "before the package is unpacked or any of its dependencies or pre-dependencies are satisfied. Therefore it "
    "must work using only the tools present in *essential* packages."
)

ROYALTY = (
    "The license of a Debian component may not restrict any party from selling or giving away the software as "
    "a component of an aggregate software distribution containing programs from several different sources. The "
    "license may not require a royalty or other fee for such sale."
)

CONFIGURE = (
    'If you need to edit a "Makefile" where GNU-style "configure" scripts are used, you should edit the ".in" '
    'files rather than editing the "Makefile" directly. This allows the user to reconfigure the package if '
    "necessary."
)

UNSEEN: list[tuple[str, str, bool]] = [
    (
        "Nothing done by a person who, by reason of unsoundness of mind, is incapable of knowing the nature of "
        "the act at the time of doing it is an offence.",
        UNSOUND,
        True,
    ),
    ("Nothing is an offence which is done by a person of unsound mind.", UNSOUND, False),
    (
        "An act is an offence if it is done by a person who, by reason of unsoundness of mind, is incapable of "
        "knowing its nature.",
        UNSOUND,
        False,
    ),
    (
        "Intoxication excuses a person who was incapable of knowing the nature of the act only if the thing which "
        "intoxicated him was administered without his knowledge or against his will.",
        INTOXICATION,
        True,
    ),
    (
        "Nothing is an offence which is done by a person who, by reason of intoxication, is incapable of knowing "
        "the nature of the act.",
        INTOXICATION,
        False,
    ),
    ("Nothing is an offence which is done by a child under seven years of age.", CHILD, True),
    ("An act done by a child under 7 years of age is not an offence.", CHILD, True),
    ("Nothing is an offence which is done by a child under twelve years of age.", CHILD, False),
    (
        "Section 83 provides that nothing is an offence which is done by a child under seven years of age.",
        CHILD,
        False,
    ),
    (
        "Where several persons do a criminal act in furtherance of the common intention of all, each of them is "
        "liable for it as if he had done it alone.",
        COMMON,
        True,
    ),
    (
        "When a criminal act is done by several persons, each of such persons is liable for that act in the same "
        "manner as if it were done by him alone.",
        COMMON,
        False,
    ),
    (
        "If the offence is punishable with imprisonment as well as fine, the term of imprisonment in default of "
        "payment of the fine may not exceed one-fourth of the maximum term fixed for the offence.",
        FINE,
        True,
    ),
    (
        "The term for which the Court directs the offender to be imprisoned in default of payment of a fine shall "
        "not exceed one-third of the maximum term of imprisonment fixed for the offence.",
        FINE,
        False,
    ),
    (
        "Two or more persons commit an affray when they disturb the public peace by fighting in a public place.",
        AFFRAY,
        True,
    ),
    (
        "An affray is punishable with imprisonment of up to one month, a fine of up to 100 rupees, or both.",
        AFFRAY,
        True,
    ),
    (
        "Whoever commits an affray shall be punished with imprisonment which may extend to one month and with "
        "fine which may extend to one hundred rupees.",
        AFFRAY,
        False,
    ),
    (
        "In calculating fractions of terms of punishment, imprisonment for life counts as imprisonment for 20 years.",
        LIFE,
        True,
    ),
    (
        "In calculating fractions of terms of punishment, imprisonment for life shall be reckoned as equivalent "
        "to imprisonment for fourteen years.",
        LIFE,
        False,
    ),
    (
        "Nothing is an offence which is done by a person who, by reason of a mistake of law, in good faith "
        "believes himself to be justified by law in doing it.",
        MISTAKE,
        False,
    ),
    ("Nothing is an offence which is done by any person who is justified by law in doing it.", MISTAKE, True),
    (
        "Causing death by a rash or negligent act that does not amount to culpable homicide is punishable with "
        "imprisonment for up to seven years, and also with fine.",
        NEGLIGENCE,
        True,
    ),
    (
        "Whoever causes the death of any person by a negligent act not amounting to culpable homicide and escapes "
        "from the scene of the incident shall be punished with imprisonment which may extend to seven years.",
        NEGLIGENCE,
        False,
    ),
    (
        "Whoever causes the death of any person by doing any rash or negligent act amounting to culpable homicide "
        "shall be punished with imprisonment for a term which may extend to seven years.",
        NEGLIGENCE,
        False,
    ),
    (
        "Whoever commits snatching shall be liable to fine as well as to imprisonment of up to 3 years.",
        SNATCHING,
        True,
    ),
    (
        "Whoever commits snatching shall be punished with imprisonment for a term of not less than three years.",
        SNATCHING,
        False,
    ),
    (
        "A public servant who engages in trade although legally bound not to do so may be punished with simple "
        "imprisonment for up to one year, or with fine, or with both, or with community service.",
        TRADING,
        True,
    ),
    (
        "Every public servant who engages in trade shall be punished with simple imprisonment for a term which "
        "may extend to one year, or with fine, or with both or with community service.",
        TRADING,
        False,
    ),
    (
        "Assault on grave and sudden provocation given by the person assaulted is punishable with simple "
        "imprisonment of at most one month, a fine of at most 1,000 rupees, or both.",
        PROVOCATION,
        True,
    ),
    (
        "Whoever assaults any person on grave and sudden provocation given by a third person shall be punished "
        "with simple imprisonment for a term which may extend to one month.",
        PROVOCATION,
        False,
    ),
    (
        "Without a special order of a Magistrate under section 187, a person arrested without warrant may not be "
        "held in custody for more than 24 hours, not counting the journey to the Magistrate's Court.",
        CUSTODY,
        True,
    ),
    (
        "The period of custody shall not, in the absence of a special order of a Magistrate under section 167, "
        "exceed twenty-four hours.",
        CUSTODY,
        False,
    ),
    (
        "A person arrested without warrant may not be detained for more than twenty-four hours, including the "
        "time necessary for the journey from the place of arrest to the Magistrate's Court.",
        CUSTODY,
        False,
    ),
    (
        "A person who has reason to believe that he may be arrested on an accusation of a non-bailable offence "
        "may apply to the High Court or the Court of Session.",
        BAIL,
        True,
    ),
    ("The Court must direct that in the event of such arrest the applicant shall be released on bail.", BAIL, False),
    (
        "A person who fears arrest on an accusation of having committed a bailable offence may apply to the High "
        "Court for a direction under this section.",
        BAIL,
        False,
    ),
    ("Every investigation under this Chapter shall be completed without unnecessary delay.", INVESTIGATION, True),
    (
        "The investigation of an offence under section 64 of the Bharatiya Nyaya Sanhita, 2023 must be completed "
        "within 2 months from the date on which the officer in charge of the police station recorded the "
        "information.",
        INVESTIGATION,
        True,
    ),
    (
        "The investigation in relation to an offence under section 69 of the Bharatiya Nyaya Sanhita, 2023 shall "
        "be completed within two months from the date on which the information was recorded.",
        INVESTIGATION,
        False,
    ),
    (
        "Every investigation under this Chapter shall be completed within two months from the date on which the "
        "information was recorded.",
        INVESTIGATION,
        False,
    ),
    (
        "The police officer may use all means necessary to effect the arrest if the person forcibly resists it or "
        "attempts to evade it.",
        RESIST,
        True,
    ),
    (
        "The police officer may use all means necessary to effect the arrest whether or not the person resists or "
        "attempts to evade it.",
        RESIST,
        False,
    ),
    (
        "An arrested person shall not be denied the right to consult a legal practitioner of his choice.",
        DETENTION,
        True,
    ),
    (
        "Within twenty-four hours of arrest, leaving out the journey to the court, everyone arrested and detained "
        "in custody must be brought before the nearest magistrate.",
        DETENTION,
        True,
    ),
    (
        "Every person arrested under a law providing for preventive detention shall be produced before the "
        "nearest magistrate within twenty-four hours of such arrest.",
        DETENTION,
        False,
    ),
    (
        "An arrested person may be detained in custody beyond twenty-four hours without the authority of a magistrate.",
        DETENTION,
        False,
    ),
    ("No person accused of any offence shall be compelled to be a witness against himself.", CONVICTION, True),
    ("The State may not compel an accused person to testify against himself.", CONVICTION, True),
    ("No person accused of any offence shall be permitted to be a witness against himself.", CONVICTION, False),
    (
        "The President's term of office is five years from the date on which he enters upon his office.",
        PRESIDENT,
        True,
    ),
    ("The President may resign by writing under his hand addressed to the Vice-President.", PRESIDENT, True),
    (
        "The Vice-President may, by writing under his hand addressed to the President, resign his office.",
        PRESIDENT,
        False,
    ),
    (
        "The President ceases to hold office at the expiration of his term even if his successor has not entered "
        "upon his office.",
        PRESIDENT,
        False,
    ),
    ("What advice Ministers tendered to the President may not be inquired into by any court.", ADVICE, True),
    (
        "The President may act contrary to the advice tendered after reconsideration by the Council of Ministers.",
        ADVICE,
        False,
    ),
    ("Nobody younger than 25 is qualified to fill a seat in the House of the People.", SEAT, True),
    (
        "A person must be not less than twenty-five years of age to be chosen to fill a seat in the Council of States.",
        SEAT,
        False,
    ),
    ("The President appoints every Judge of the Supreme Court by warrant under his hand and seal.", JUDGES, True),
    (
        "The President shall appoint every Judge of the Supreme Court before consultation with Judges of the "
        "Supreme Court and of the High Courts.",
        JUDGES,
        False,
    ),
    ("The Allahabad High Court acquitted Anil Singh on appeal.", ANIL, True),
    ("Anil Singh was convicted and sentenced to imprisonment for life.", ANIL, True),
    ("The Court of Session acquitted Anil Singh of the murder of Keshav Kumar.", ANIL, False),
    ("Keshav Kumar was tried for the murder of Anil Singh.", ANIL, False),
    ("The High Court upheld the acquittal of six of the accused.", SEVEN, True),
    ("The High Court maintained the acquittal of all seven accused persons.", SEVEN, False),
    (
        "A case of knowledge only, without intention to cause murder and bodily injury, falls under Section 304 "
        "Part II.",
        INTENT,
        True,
    ),
    (
        "The appellant had the intention of causing the death of the deceased when he committed the act.",
        INTENT,
        False,
    ),
    (
        "The Sessions Court rejected the application for anticipatory bail which the accused-appellant had moved "
        "on 10.7.1989.",
        ALIBI,
        True,
    ),
    ("The High Court granted the accused-appellant anticipatory bail.", ALIBI, False),
    (
        "Apte was given power by the Chief Engineer to make purchases of up to Rs. 10,000 for each order.",
        PURCHASES,
        True,
    ),
    (
        "The kitchen knife recovered from the house of the appellant was used in the murder of the deceased.",
        KNIFE,
        False,
    ),
    (
        "This Court held that it is not necessary for the prosecution to prove the motive of the appellant.",
        MOTIVE,
        False,
    ),
    (
        "The Full Bench of the Rajasthan High Court dismissed the writ applications by a majority of 3 to 2.",
        BENCH,
        True,
    ),
    ("A target that has nothing to do must still exist and must always succeed.", TARGETS, True),
    ('Either the "binary-arch" or the "binary-indep" target must exist.', TARGETS, False),
    ('A "Description" control field is required in every Debian package.', DESCRIPTION, True),
    ('Every Debian package may have a "Description" control field.', DESCRIPTION, False),
    ('The "config" script must work using only the tools present in essential packages.', CONFIG, True),
    ('The "config" script might be run only after the package is unpacked.', CONFIG, False),
    (
        "The license of a Debian component must not require a royalty for the sale of the software as part of an "
        "aggregate distribution.",
        ROYALTY,
        True,
    ),
    (
        'You should edit the ".in" files, not the "Makefile" itself, where GNU-style "configure" scripts are used.',
        CONFIGURE,
        True,
    ),
]
