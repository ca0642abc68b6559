# Reference tests of scores, by R's stats and exactRankTests.
#
#   Rscript tests/reference/inference.R tests/reference
#
# Writes FOLDER/inference_data.csv (data, system, query, score), drawn here, and FOLDER/inference.csv (data, quantity,
# pair, value). The tests run on whole numbers, a million times the scores, so that ties are ties. exact: exactRankTests, ties
# and all, zeros dropped. Debian: r-base-core r-cran-exactranktests.
suppressPackageStartupMessages(library(exactRankTests))
folder <- commandArgs(TRUE)[1]
lines <- "data,quantity,pair,value"

note <- function(data, quantity, pair, value) {
  lines <<- c(lines, sprintf("%s,%s,%s,%.15g", data, quantity, pair, value))
}

set.seed(5)
drawn <- function(s, q, step) {
  scores <- outer(seq(0.4, 0.6, length.out = s), rnorm(q, 0, 0.1), "+") + rnorm(s * q, 0, 0.12)
  round(1e6 * pmin(pmax(scores, 0), 1) / step) * step
}
whole <- list(
  untied = drawn(4, 12, 1), ties = drawn(4, 20, 50000), fifty = drawn(3, 40, 1), many_ties = drawn(4, 100, 20000),
  many = drawn(3, 80, 1)
)
rows <- NULL
for (name in names(whole)) {
  scores <- whole[[name]]
  cells <- expand.grid(system = seq_len(nrow(scores)) - 1, query = seq_len(ncol(scores)) - 1)
  rows <- rbind(rows, cbind(data = name, cells, score = as.vector(scores) / 1e6))
  for (i in 1:(nrow(scores) - 1)) for (j in (i + 1):nrow(scores)) {
    pair <- paste0(i - 1, "-", j - 1)
    d <- scores[i, ] - scores[j, ]
    t <- t.test(d)
    note(name, "t", pair, t$p.value)
    note(name, "t_lower", pair, t$conf.int[1] / 1e6)
    note(name, "t_upper", pair, t$conf.int[2] / 1e6)
    note(name, "sign", pair, binom.test(sum(d > 0), sum(d != 0))$p.value)
    few <- sum(d != 0) <= 25
    untied <- !any(duplicated(abs(d[d != 0])))
    if (few && !untied) {
      p <- wilcox.exact(d[d != 0], exact = TRUE)$p.value
    } else {
      p <- suppressWarnings(wilcox.test(d[d != 0], exact = untied && sum(d != 0) <= 50))$p.value
    }
    note(name, "wilcoxon", pair, p)
    if (name == "untied" && untied && all(d != 0)) {
      w <- wilcox.test(d, exact = TRUE, conf.int = TRUE)
      note(name, "wilcoxon_lower", pair, w$conf.int[1] / 1e6)
      note(name, "wilcoxon_upper", pair, w$conf.int[2] / 1e6)
      note(name, "wilcoxon_estimate", pair, w$estimate / 1e6)
    }
    if (name == "untied") {
      p <- perm.test(scores[i, ], scores[j, ], paired = TRUE, exact = TRUE)$p.value
      note(name, "permutation", pair, p)
    }
  }
  f <- friedman.test(t(scores))
  note(name, "friedman", "all", f$statistic)
  note(name, "friedman_p", "all", f$p.value)
}
p <- c(0.01, 0.02, 0.02, 0.03, 0.6, 0.0001, 0.04, 1, 0.35, 0.012)
note("adjusted", "p", seq_along(p) - 1, p)
note("adjusted", "holm", seq_along(p) - 1, p.adjust(p, "holm"))
note("adjusted", "bh", seq_along(p) - 1, p.adjust(p, "BH"))
for (s in c(2, 3, 18, 50)) for (q in c(0.5, 2, 4, 6, 9)) {
  note("studentised", s, q, ptukey(q, s, Inf, lower.tail = FALSE))
}
for (s in c(2, 18, 50)) note("critical", s, 0.95, qtukey(0.95, s, Inf))
write.csv(format(rows, digits = 9, trim = TRUE), file.path(folder, "inference_data.csv"), row.names = FALSE, quote = FALSE)
writeLines(lines, file.path(folder, "inference.csv"))
