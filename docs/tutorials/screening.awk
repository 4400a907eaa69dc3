# Screening visits that were never made: awk -v seed=1 -v rows=6000 -f screening.awk > screening.csv
# About one visit in six finds the disease. Older patients have noisier markers.
function uniform() { state = (state * 16807) % 2147483647; return state / 2147483647 }
function normal(  sum, i) { sum = -6; for (i = 0; i < 12; i++) sum += uniform(); return sum }
BEGIN {
    state = seed * 7919 + 54321
    split("coast,hills,town", sites, ",")
    print "patient,age,sex,smoker,site,marker_a,marker_b,pressure,disease"
    for (row = 1; row <= rows; row++) {
        age = int(35 + 50 * uniform())
        sex = uniform() < 0.5 ? "female" : "male"
        smoker = uniform() < 0.25 ? "yes" : "no"
        site = sites[1 + int(3 * uniform())]
        risk = -2.3 + 0.03 * (age - 60) + (smoker == "yes" ? 0.8 : 0)
        disease = uniform() < 1 / (1 + exp(-risk)) ? "yes" : "no"
        noise = age > 70 ? 1.4 : 1
        a = 10 + (disease == "yes" ? 4 : 0) + 2 * noise * normal()
        b = 50 + (disease == "yes" ? 12 : 0) + 10 * noise * normal()
        pressure = int(118 + 0.4 * (age - 50) + 12 * normal())
        printf "%d-%05d,%d,%s,%s,%s,%.2f,%.1f,%d,%s\n", seed, row, age, sex, smoker, site, a, b, pressure, disease
    }
}
