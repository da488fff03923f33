# %% [markdown]
# # Case 99: a server that forgets every session
#
# Every table is computed from recorded runs.

# %%
import pandas as pd
from IPython.display import display

from workbench import connections, lab, matrix, oracle, plots, recording

case = lab.load("example_lab")
runs = recording.available(case)
judged = {name: oracle.judge(case, run) for name, run in runs.items()}
pd.Series(runs["broken"].meta["versions"], name="what ran in the broken stack").to_frame()

# %% [markdown]
# ## On the wire

# %%
tables = {name: connections.table(runs[name].capture) for name in case.story()}
display(plots.shown(plots.handshakes(tables, "What each connection paid: full or resumed handshakes")), raw=True)

# %% [markdown]
# ## Who is affected

# %%
display(plots.shown(matrix.picture(matrix.recorded(case, "cache_and_timeout"))), raw=True)

# %% [markdown]
# ## Conclusion
#
# Reached from the recordings above; a fresh run has to reach the same.

# %% tags=["conclusion"]
for name in case.story():
    declined = judged[name].facts["declined_share"] > case.oracles["sessions_are_resumed"].max
    print(f"{name}: {judged[name].verdict}; sessions are {'declined' if declined else 'taken up again'}")
