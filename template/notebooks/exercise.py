# %% [markdown]
# # Case 99: questions to a capture
#
# A server is slow for clients that come back at once. Put an answer in the place of `...` and run the cell.

# %%
from workbench import exercise

case = exercise.open(case=99)
case

# %%
case.symptom()

# %%
case.ask("offers")

# %%
case.check("offers", ...)

# %%
case.ask("change")

# %%
case.check("change", ...)

# %% tags=["conclusion"]
case.score()
