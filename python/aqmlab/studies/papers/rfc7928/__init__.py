"""Study of RFC 7928: its guidelines for characterising disciplines, and claims of four RFCs."""
