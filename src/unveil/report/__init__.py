"""Reports: a document becomes something a person reads. Nothing here measures."""
