"""Study of RFC 7928: how to characterise a queue discipline, and what four of them claim."""
