"""The checks, a file for each part of a document, in the documents' order."""
