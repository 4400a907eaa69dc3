# Loan applications that were never made: awk -v seed=1 -v rows=4000 -f loans.awk > loans.csv
# Past officers approved women and people from the south less often than their finances justify.
function uniform() { state = (state * 16807) % 2147483647; return state / 2147483647 }
function normal(  sum, i) { sum = -6; for (i = 0; i < 12; i++) sum += uniform(); return sum }
BEGIN {
    state = seed * 7919 + 12345
    if (bias == "") bias = 0.6
    split("car,home,education,business", purposes, ",")
    print "application,age,sex,region,income,debt,years_employed,late_payments,purpose,approved"
    for (row = 1; row <= rows; row++) {
        age = int(19 + 50 * uniform())
        sex = uniform() < 0.45 ? "female" : "male"
        region = uniform() < 0.3 ? "south" : (uniform() < 0.5 ? "north" : "west")
        years = int((age - 18) * uniform())
        income = int(24000 + 500 * years + 9000 * normal() + (sex == "male" ? 3000 : 0))
        if (income < 9000) income = 9000
        debt = int(income * 0.6 * uniform())
        late = uniform() < 0.6 ? 0 : 1 + int(4 * uniform() * uniform())
        purpose = purposes[1 + int(4 * uniform())]
        score = (income - 33000) / 9000 - 4 * (debt / income - 0.3) - 0.9 * late + 0.06 * years
        score += (sex == "female" ? -bias : 0) + (region == "south" ? -bias : 0) + 0.8
        approved = uniform() < 1 / (1 + exp(-1.5 * score)) ? "yes" : "no"
        printf "%d-%05d,%d,%s,%s,%d,%d,%d,%d,%s,%s\n", seed, row, age, sex, region, income, debt, years, late, purpose, approved
    }
}
