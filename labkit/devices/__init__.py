"""Devices and all that the platform keeps of them; no HTTP here.

products     what a product is and which aliases and values it takes
identities   which identities a product's format allows
registry     devices: whitelisted, provisioned, locked; their credentials
content      files that devices download
state        datapoints: the value of each alias over time
polls        who waits for the next datapoint
"""
