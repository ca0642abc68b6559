# Reference variance components and coefficients of generalizability theory, by R's aov, lme4 and gt4ireval.
#
#   Rscript tests/reference/gtheory.R tests/reference [GT4IREVAL.R] [MIREX.csv]
#
# Writes FOLDER/gtheory_data.csv (data, system, query, assessor, score), drawn here but for brennan, and
# FOLDER/gtheory.csv (data, source, quantity, value). GT4IREVAL.R, where given, defines gstudy and dstudy as the
# package gt4ireval of github.com/julian-urbano/gt4ireval does (g.study of commit 05d81f4, dstudy of 0106934; without their
# checks of arguments); it is not kept, its printed output is. MIREX.csv has the scores of MIREX 2011 as
# gtheory_scores.py writes them; not kept either. Debian: r-base-core r-cran-lme4.
folder <- commandArgs(TRUE)[1]
package <- commandArgs(TRUE)[2]
mirex <- commandArgs(TRUE)[3]
lines <- "data,source,quantity,value"
if (!is.na(package)) source(package)

note <- function(data, source, values) {
  lines <<- c(lines, sprintf("%s,%s,%s,%.15g", data, source, names(values), unlist(values)))
}

mean_squares <- function(formula, data) {
  table <- anova(lm(formula, data = data))
  setNames(table[["Mean Sq"]], rownames(table))
}

frame <- function(name, scores) {
  cells <- expand.grid(assessor = seq_len(dim(scores)[3]), query = seq_len(dim(scores)[2]), system = seq_len(dim(scores)[1]))
  cells$score <- aperm(scores, 3:1)[seq_len(nrow(cells))]
  cells$data <- name
  cells[, c("data", "system", "query", "assessor", "score")]
}

factors <- function(cells) transform(cells, s = factor(system), q = factor(query), h = factor(assessor))

crossed <- function(name, cells) {
  cells <- factors(cells)
  ms <- mean_squares(score ~ s + q, cells)
  components <- c(
    system = (ms[["s"]] - ms[["Residuals"]]) / nlevels(cells$q), query = (ms[["q"]] - ms[["Residuals"]]) / nlevels(cells$s),
    residual = ms[["Residuals"]]
  )
  note(name, "aov", c(ms_system = ms[["s"]], ms_query = ms[["q"]], ms_residual = ms[["Residuals"]], components))
  fit <- lme4::lmer(score ~ 1 + (1 | s) + (1 | q), data = cells, control = lme4::lmerControl(
    optimizer = "bobyqa", optCtrl = list(rhoend = 1e-12), check.conv.singular = "ignore"
  ))
  parts <- as.data.frame(lme4::VarCorr(fit))
  note(name, "lme4", setNames(parts$vcov, c(s = "system", q = "query", Residual = "residual")[parts$grp]))
  if (!is.na(package)) {
    scores <- matrix(cells$score[order(cells$system, cells$query)], nlevels(cells$q))
    colnames(scores) <- levels(cells$s)
    for (n in c(1, 10, nrow(scores), 250)) {
      found <- dstudy(gstudy(scores), queries = n)
      names <- paste(c("relative", "absolute", "relative_lower", "relative_upper", "absolute_lower", "absolute_upper"), n, sep = "_")
      note(name, "gt4ireval", setNames(found[c("Erho2", "Phi", "Erho2.lwr", "Erho2.upr", "Phi.lwr", "Phi.upr")], names))
    }
    note(name, "gt4ireval", setNames(found[c("n.q_Erho2", "n.q_Phi")], c("relative_queries", "absolute_queries")))
  }
}

nested <- function(name, cells) {
  cells <- factors(cells)
  ms <- mean_squares(score ~ s + q + q:h + s:q, cells)
  note(name, "aov", c(
    ms_system = ms[["s"]], ms_query = ms[["q"]], ms_assessor = ms[["q:h"]], ms_system_query = ms[["s:q"]],
    ms_residual = ms[["Residuals"]]
  ))
  fit <- lme4::lmer(
    score ~ 1 + (1 | s) + (1 | q) + (1 | q:h) + (1 | s:q), data = cells,
    control = lme4::lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-12, maxfun = 1e5))
  )
  parts <- as.data.frame(lme4::VarCorr(fit))
  ours <- c(s = "system", q = "query", "q:h" = "assessor", "s:q" = "system_query", Residual = "residual")
  note(name, "lme4", setNames(parts$vcov, ours[parts$grp]))
}

# Brennan (2001), "Generalizability Theory", Table 3.2: ten persons, three tasks, four raters of each task.
brennan <- c(
  5, 6, 5, 5, 5, 3, 4, 5, 6, 7, 3, 3, 9, 3, 7, 7, 7, 5, 5, 5, 7, 7, 5, 2, 3, 4, 3, 3, 5, 3, 3, 5, 6, 5, 1, 6,
  7, 5, 5, 3, 3, 1, 4, 3, 5, 3, 3, 5, 9, 2, 9, 7, 7, 7, 3, 7, 2, 7, 5, 3, 3, 4, 3, 5, 3, 3, 6, 3, 4, 5, 1, 2,
  7, 3, 7, 7, 7, 5, 5, 7, 5, 5, 5, 4, 5, 8, 5, 7, 7, 5, 5, 4, 3, 2, 1, 1, 9, 9, 8, 8, 6, 6, 6, 5, 5, 8, 1, 1,
  4, 4, 4, 3, 3, 5, 6, 5, 5, 7, 1, 1
)
set.seed(6)
drawn <- function(s, q, h, system, query, assessor, both, noise) {
  scores <- array(0.5, c(s, q, h))
  for (i in 1:s) scores[i, , ] <- scores[i, , ] + rnorm(1, 0, system)
  for (j in 1:q) scores[, j, ] <- scores[, j, ] + rnorm(1, 0, query) + rep(rnorm(h, 0, assessor), each = s)
  for (i in 1:s) for (j in 1:q) scores[i, j, ] <- scores[i, j, ] + rnorm(1, 0, both)
  round(scores + rnorm(s * q * h, 0, noise), 6)
}
data <- rbind(
  frame("brennan", aperm(array(brennan, c(4, 3, 10)), 3:1)),
  frame("crossed", drawn(8, 25, 1, 0.08, 0.12, 0, 0, 0.1)),
  frame("few", drawn(4, 6, 1, 0.05, 0.02, 0, 0, 0.1)),
  frame("nested", drawn(6, 9, 3, 0.1, 0.1, 0.05, 0.08, 0.06))
)
write.csv(format(data, digits = 9, trim = TRUE), file.path(folder, "gtheory_data.csv"), row.names = FALSE, quote = FALSE)

crossed("crossed", subset(data, data == "crossed"))
crossed("few", subset(data, data == "few"))
nested("nested", subset(data, data == "nested"))
nested("brennan", subset(data, data == "brennan"))
# The same scores as ten persons and twelve items, as Brennan has them in his section 6.1.
crossed("items", transform(subset(data, data == "brennan"), query = 4 * (query - 1) + assessor, assessor = 1))
if (!is.na(mirex)) crossed("mirex2011", read.csv(mirex))
writeLines(lines, file.path(folder, "gtheory.csv"))
