"""The words that rules are written in: answers, events, the objects in them, rules and findings.

Standard library only. Every analysis (static, runtime, preflight) produces these
events and answers these questions; no rule sees anything else.
"""
