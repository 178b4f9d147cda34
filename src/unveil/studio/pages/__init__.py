"""The five steps, one file each, and the routes of all of them."""
