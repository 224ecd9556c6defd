"""The functions that check rules: a module for each group, a function for each rule.

`same-answer-twice` of the group `prepare` is `prepare.same_answer_twice`. A function returns if the
rule holds, and raises Failed, Skipped or Undecided with a sentence.
"""
