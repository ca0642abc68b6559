# Reference fits of proportional odds models, by R's ordinal, sandwich and VGAM.
#
#   Rscript tests/reference/ordinal.R tests/reference [FEATURES.csv]
#
# Writes FOLDER/ordinal_data.csv, drawn here, and FOLDER/ordinal.csv: data, quantity, value. Our thresholds are
# clm's with the sign changed. FEATURES.csv, where given, has the MIREX 2011 features as ordinal_features.py
# writes them; it is not kept, its fits are. Debian: r-base-core r-cran-ordinal r-cran-sandwich r-cran-vgam.
library(ordinal)
library(sandwich)

folder <- commandArgs(TRUE)[1]
features <- commandArgs(TRUE)[2]
exact <- clm.control(gradTol = 1e-10, maxIter = 200)
lines <- "data,quantity,value"

note <- function(data, quantity, value) {
  lines <<- c(lines, sprintf("%s,%s,%.15g", data, quantity, value))
}

note_fit <- function(data, fit, cluster) {
  note(data, "log_likelihood", as.numeric(logLik(fit)))
  note(data, paste0("threshold_", seq_along(fit$alpha)), -fit$alpha)
  note(data, paste0("coefficient_", seq_along(fit$beta)), fit$beta)
  places <- length(fit$alpha) + seq_along(fit$beta)
  note(data, paste0("standard_error_", seq_along(fit$beta)), sqrt(diag(vcov(fit)))[places])
  if (!is.null(cluster)) {
    robust <- vcovCL(fit, cluster = cluster, type = "HC0", cadjust = TRUE)
    note(data, paste0("robust_standard_error_", seq_along(fit$beta)), sqrt(diag(robust))[places])
  }
}

# Five levels, four features on different scales, forty groups of ten that share an effect, whole weights.
set.seed(20131)
n <- 400
group <- rep(1:40, each = 10)
drawn <- data.frame(
  small = rnorm(n) / 1000, large = 5000 + 800 * rnorm(n), yes = rbinom(n, 1, 0.3), share = runif(n),
  group = group, weight = sample(0:3, n, TRUE)
)
latent <- 900 * drawn$small + drawn$large / 900 - 1.5 * drawn$yes + drawn$share + rnorm(40)[group] + rlogis(n)
drawn$level <- as.integer(cut(latent, c(-Inf, quantile(latent, c(0.1, 0.35, 0.6, 0.9)), Inf))) - 1
drawn$small <- as.numeric(sprintf("%.12g", drawn$small))
drawn$large <- as.numeric(sprintf("%.12g", drawn$large))
drawn$share <- as.numeric(sprintf("%.12g", drawn$share))
write.csv(format(drawn, digits = 12), file.path(folder, "ordinal_data.csv"), row.names = FALSE, quote = FALSE)
drawn$ordered <- factor(drawn$level, ordered = TRUE)
# clm likes features near 1: fit on those, and change units back.
unit <- c(1000, 1 / 1000, 1, 1)
scaled <- clm(ordered ~ I(small * 1000) + I(large / 1000) + yes + share, data = drawn, control = exact)
note_unit <- function(data, fit, cluster) {
  before <- length(lines)
  note_fit(data, fit, cluster)
  for (i in (before + 1):length(lines)) {
    parts <- strsplit(lines[i], ",")[[1]]
    place <- regmatches(parts[2], regexpr("[0-9]+$", parts[2]))
    if (length(place) == 1 && !grepl("threshold", parts[2])) {
      lines[i] <<- sprintf("%s,%s,%.15g", parts[1], parts[2], as.numeric(parts[3]) * unit[as.integer(place)])
    }
  }
}
note_unit("drawn", scaled, drawn$group)
weighted <- clm(
  ordered ~ I(small * 1000) + I(large / 1000) + yes + share, data = drawn, weights = weight, control = exact
)
note_unit("weighted", weighted, NULL)

# The same model by another package.
other <- VGAM::vglm(
  ordered ~ I(small * 1000) + I(large / 1000) + yes + share,
  VGAM::cumulative(parallel = TRUE, reverse = TRUE), data = drawn, epsilon = 1e-12, maxit = 100
)
note("vgam", "log_likelihood", VGAM::logLik(other))
note("vgam", paste0("threshold_", 1:4), VGAM::coef(other)[1:4])
note("vgam", paste0("coefficient_", 1:4), VGAM::coef(other)[5:8] * unit)

if (!is.na(features)) {
  mirex <- read.csv(features)
  mirex$ordered <- factor(mirex$level, ordered = TRUE)
  full <- ordered ~ fSYS + fART + sGEN + fGEN + sGEN.fGEN
  fitted <- clm(full, data = mirex, control = exact)
  note_fit("mirex2011", fitted, mirex$query)
  for (name in c("fSYS", "fART", "sGEN", "fGEN", "sGEN.fGEN")) {
    without <- clm(update(full, paste(". ~ . -", name)), data = mirex, control = exact)
    note("mirex2011", paste0("chi_squared_", name), 2 * as.numeric(logLik(fitted) - logLik(without)))
  }
}
writeLines(lines, file.path(folder, "ordinal.csv"))
