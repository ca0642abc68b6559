# A whole campaign, by a client written by hand: each request is a line of the description, /openapi.json.
# Rscript campaign.R URL TOKEN COLLECTION

library(httr)
library(jsonlite)

given <- commandArgs(trailingOnly = TRUE)
url <- given[1]
collection <- given[3]
token <- add_headers(Authorization = paste("Bearer", given[2]))
one <- unbox # a number or a text alone, not a list of one

# Answer to a request whose body is a list, or that has none.
ask <- function(method, path, body = NULL, query = list()) {
  sent <- if (is.null(body)) NULL else toJSON(body)
  VERB(method, paste0(url, path), token, content_type_json(), query = query, body = sent)
}
text <- function(answer) content(answer, "text", encoding = "UTF-8")
# Value of an answer; a refusal ends the program with the service's words.
value <- function(answer) {
  said <- fromJSON(text(answer), simplifyVector = FALSE)
  if (http_error(answer)) stop(said$detail)
  said
}
problem <- function(answer) fromJSON(text(answer))$detail
of_collection <- function(name) paste0("/v1/collections/", collection, "/", name)

tables <- list(
  name = one(collection),
  runs = list(
    near = list(q1 = c("a2", "b2", "c1"), q2 = c("d2", "e1", "f2")),
    far = list(q1 = c("c1", "g0", "h0"), q2 = c("i0", "e1", "j0"))
  ),
  scale = one("0-2"),
  cutoff = one(3),
  settings = list(title = one("Two systems"), measure = one("CG@3"), stopping_rule = one("judgments=10"))
)
nothing <- setNames(list(), character())
made <- value(ask("POST", "/v1/collections", tables))
again <- problem(ask("POST", "/v1/collections", tables))
opened <- value(ask("POST", of_collection("resume"), nothing))

repeat {
  pairs <- value(ask("POST", of_collection("next"), list(assessor = one("ann"), count = one(4))))$pairs
  if (length(pairs) == 0) break
  for (pair in pairs) {
    grade <- as.integer(substring(pair$document, 2))
    value(ask("POST", of_collection("judgments"), list(
      query = one(pair$query), document = one(pair$document), assessor = one("ann"), grade = one(grade),
      seconds = one(2)
    )))
  }
}
wrong <- list(query = one("q1"), document = one("a2"), assessor = one("ann"), grade = one(7))
refused <- problem(ask("POST", of_collection("judgments"), wrong))

campaign <- value(ask("GET", of_collection("campaign")))
ranking <- value(ask("GET", of_collection("ranking")))
exported <- read.csv(text = text(ask("GET", of_collection("judgments"), query = list(format = "csv"))))
closed <- value(ask("POST", of_collection("close"), list(reason = one("done"))))
published <- value(ask("POST", of_collection("publications"), list(authors = "Ann Smith")))
page <- text(ask("GET", published$page))
record <- value(ask("GET", paste0(published$page, "record.json")))
bundle <- content(ask("GET", of_collection("report")), "raw")

scores <- lapply(ranking$systems, function(system) one(system$expectation))
cat(toJSON(list(
  problems = c(again, refused),
  status = one(campaign$status),
  reached = one(campaign$goal$reached),
  judged = one(ranking$judged),
  scores = setNames(scores, vapply(ranking$systems, function(system) system$system, "")),
  exported = one(nrow(exported) + 1),
  page = one(grepl("Two systems", page, fixed = TRUE)),
  published = vapply(record$systems, function(system) system$system, ""),
  bundle = one(rawToChar(bundle[1:2]))
), digits = NA), "\n")
