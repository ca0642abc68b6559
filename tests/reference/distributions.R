# Reference distributions of scores, by R's stats, truncnorm and fitdistrplus.
#
#   Rscript tests/reference/distributions.R tests/reference
#
# Writes FOLDER/distributions.csv (quantity, at, value); scores are the rows of quantity score.
# Debian: r-base-core r-cran-truncnorm r-cran-fitdistrplus.
folder <- commandArgs(TRUE)[1]
lines <- "quantity,at,value"
note <- function(quantity, at, value) lines <<- c(lines, sprintf("%s,%s,%.15g", quantity, at, value))

set.seed(4)
scores <- round(rbeta(40, 1.5, 2.5), 4)
note("score", seq_along(scores), scores)
fitted <- fitdistrplus::fitdist(scores, "beta", control = list(reltol = 1e-15, maxit = 5000))
note("likelihood", c("alpha", "beta"), fitted$estimate)
note("log_likelihood", "", fitted$loglik)
x <- c(-0.2, 0, 0.01, 0.2, 0.5, 0.9, 1, 1.3)
note("truncated_cdf", x, truncnorm::ptruncnorm(x, 0, 1, 0.35, 0.3))
note("truncated_quantile", c(0.01, 0.5, 0.99), truncnorm::qtruncnorm(c(0.01, 0.5, 0.99), 0, 1, 0.35, 0.3))
note("truncated_mean", "", truncnorm::etruncnorm(0, 1, 0.35, 0.3))
note("truncated_variance", "", truncnorm::vtruncnorm(0, 1, 0.35, 0.3))
note("beta_cdf", x, pbeta(x, 0.8, 2.5))
note("beta_quantile", c(0.01, 0.5, 0.99), qbeta(c(0.01, 0.5, 0.99), 0.8, 2.5))
note("type_7", c(0, 0.1, 0.333, 0.5, 1), quantile(scores, c(0, 0.1, 0.333, 0.5, 1), type = 7))
t <- t.test(scores, conf.level = 0.9)
note("t_interval", c("lower", "upper"), t$conf.int)
new <- predict(lm(scores ~ 1), data.frame(row.names = 1), interval = "prediction", level = 0.9)
note("prediction", c("lower", "upper"), new[1, c("lwr", "upr")])
writeLines(lines, file.path(folder, "distributions.csv"))
