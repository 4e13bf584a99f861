"""Devices and their data in the platform; no HTTP here.

products     products, with the aliases and values that they accept
identities   validation of identities by a product's format
registry     devices: whitelisted, provisioned, locked; their credentials
content      files that devices download
state        datapoints: the value of each alias over time
polls        long polls, which wait for the next datapoint
"""
