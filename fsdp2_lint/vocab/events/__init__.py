"""What happens in a training program, in the order in which it happens.

The comment behind each event names the moment, and the analyses that see it:
S static, R runtime, P preflight. Events are produced by an analysis and judged by
rules; the objects in them (see :mod:`fsdp2_lint.vocab.objects`) answer questions
*as of that moment*. One module for each topic; an object that only one
event carries is defined next to it.
"""
