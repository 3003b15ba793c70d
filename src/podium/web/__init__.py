"""The app: people judge pairs in a browser, the organiser watches the order settle. Thin over `campaign`.

No SQL and no mathematics here. Needs the extra `serve`; nothing of it is loaded by `import podium`.
"""
