// The defect: the copy of a stub that is no longer there.
