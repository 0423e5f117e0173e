"""Trees for language models, after chapter 6 of K. Panner Selvam's thesis, and on kernel sums.

`hardware` and `model_features` have Table 6.3, `rows` what was measured, `boosted` the trees,
`folds` and `scores` the comparison, `board` its page.
"""
